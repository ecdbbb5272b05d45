"""Charts for notebooks that load nothing from a network: `altair.Chart`, shown as a picture that is drawn here.

Altair's usual renderer writes HTML that loads Vega from a network. A chart of ours shows its specification, which JupyterLab
and Visual Studio Code draw by themselves, beside a picture by vl-convert where that is installed. Who has enabled another
renderer gets that one. What `altair.layer(a, b)` and its like make is Altair's own: only its global state could change that.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

VEGA_LITE = "application/vnd.vegalite.v6+json"
MOST_DRAWN = 500_000  # characters of a drawing
MISSING = "A chart in Vega-Lite. `pip install vl-convert-python` shows it as a picture without a network; .to_dict() is its text."
TOGETHER = ("__add__", "__and__", "__or__", "facet", "repeat")  # make a chart of another kind


def chart(spec: Mapping[str, Any]) -> Any:
    """Return a specification as an `altair.Chart`, which can be put together with others."""
    altair = import_module("altair")  # here, as it takes a second
    return _offline(altair.Chart).from_dict({name: value for name, value in spec.items() if name != "$schema"})


def bundle(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a notebook shows of a specification, by media type."""
    found = {VEGA_LITE: dict(spec), "text/plain": MISSING}
    if _converter():
        found |= {**_picture(dict(spec)), "text/plain": "A chart in Vega-Lite."}
    return found


def _picture(spec: dict[str, Any]) -> dict[str, str]:
    """Return a drawing, or pixels where a drawing of many points would be larger."""
    convert = import_module("vl_convert")
    drawn = convert.vegalite_to_svg(spec, allowed_base_urls=[])
    if len(drawn) <= MOST_DRAWN:
        return {"image/svg+xml": drawn}
    return {"image/png": b64encode(convert.vegalite_to_png(spec, allowed_base_urls=[])).decode("ascii")}


def _converter() -> bool:
    return find_spec("vl_convert") is not None


@cache
def _offline(kind: Any) -> Any:
    """Return a class of Altair's charts that shows itself without a network, and so does what it is put together to."""
    renderers = import_module("altair").renderers

    def shown(self: Any, *arguments: Any, **named: Any) -> Any:
        if renderers.active not in ("", "default"):
            return kind._repr_mimebundle_(self, *arguments, **named)
        return bundle(self.to_dict(context={"pre_transform": False}))

    def written(name: str) -> Callable[..., Any]:
        return lambda self, *arguments, **named: getattr(kind, name)(self, *arguments, **{"inline": _converter(), **named})

    def together(name: str) -> Callable[..., Any]:
        def method(self: Any, *arguments: Any, **named: Any) -> Any:
            made = getattr(kind, name)(self, *arguments, **named)
            return _retyped(made)

        return method

    def parts(self: Any) -> tuple[Any, ...]:
        return _remade, (kind, vars(self))

    methods: dict[str, Any] = {"__reduce__": parts}  # a class that is made here has no name under which pickle finds it
    methods |= {name: written(name) for name in ("to_html", "save")} | {name: together(name) for name in TOGETHER}
    return type(kind.__name__, (kind,), {"_repr_mimebundle_": shown, **methods})


def _remade(kind: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a chart of ours of one of Altair's kinds with its attributes, as pickle keeps them."""
    made = object.__new__(_offline(kind))
    vars(made).update(attributes)
    return made


def _retyped(made: Any) -> Any:
    """Return a chart that Altair made of ours as one of ours; Altair keeps attributes of its own."""
    kind: Any = type(made)
    if "_repr_mimebundle_" not in vars(kind):
        object.__setattr__(made, "__class__", _offline(kind))
    return made
