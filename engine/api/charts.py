"""Charts for notebooks without a network: `altair.Chart` with a picture drawn on this computer.

Altair's usual renderer writes HTML that loads Vega from a network. An offline chart shows its specification, which JupyterLab
and Visual Studio Code draw by themselves, and a picture by vl-convert where that is installed. If the user has chosen a renderer,
that one is used. Charts of `altair.layer(a, b)` and similar functions use Altair's usual renderer: only Altair's global state
could change that.
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
NO_CONVERTER = (
    "A chart in Vega-Lite. `pip install vl-convert-python` shows it as a picture without a network; .to_dict() returns its "
    "specification."
)
COMPOSITIONS = ("__add__", "__and__", "__or__", "facet", "repeat")  # make a chart of another kind


def chart(spec: Mapping[str, Any]) -> Any:
    """Return a specification as an `altair.Chart`, which can be combined with others."""
    altair = import_module("altair")  # here, as it takes a second
    return _offline_class(altair.Chart).from_dict({name: part for name, part in spec.items() if name != "$schema"})


def bundle(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of a notebook's output for a specification, by media type."""
    contents = {VEGA_LITE: dict(spec), "text/plain": NO_CONVERTER}
    if _converter():
        contents |= {**_picture(dict(spec)), "text/plain": "A chart in Vega-Lite."}
    return contents


def _picture(spec: dict[str, Any]) -> dict[str, str]:
    """Return a picture by media type: a drawing, or pixels if smaller."""
    convert = import_module("vl_convert")
    drawing = convert.vegalite_to_svg(spec, allowed_base_urls=[])
    if len(drawing) <= MOST_DRAWN:
        return {"image/svg+xml": drawing}
    return {"image/png": b64encode(convert.vegalite_to_png(spec, allowed_base_urls=[])).decode("ascii")}


def _converter() -> bool:
    return find_spec("vl_convert") is not None


@cache
def _offline_class(kind: Any) -> Any:
    """Return a class of Altair's charts whose charts, and their compositions, need no network."""
    renderers = import_module("altair").renderers

    def mime_bundle(self: Any, *arguments: Any, **options: Any) -> Any:
        if renderers.active not in ("", "default"):
            return kind._repr_mimebundle_(self, *arguments, **options)
        return bundle(self.to_dict(context={"pre_transform": False}))

    def writer(name: str) -> Callable[..., Any]:
        return lambda self, *arguments, **options: getattr(kind, name)(self, *arguments, **{"inline": _converter(), **options})

    def composition(name: str) -> Callable[..., Any]:
        def method(self: Any, *arguments: Any, **options: Any) -> Any:
            compound_chart = getattr(kind, name)(self, *arguments, **options)
            return _offline_chart(compound_chart)

        return method

    def parts(self: Any) -> tuple[Any, ...]:
        return _chart_copy, (kind, vars(self))

    methods: dict[str, Any] = {"__reduce__": parts}  # a class that is made here has no name under which pickle finds it
    methods |= {name: writer(name) for name in ("to_html", "save")} | {name: composition(name) for name in COMPOSITIONS}
    return type(kind.__name__, (kind,), {"_repr_mimebundle_": mime_bundle, **methods})


def _chart_copy(kind: Any, attributes: Mapping[str, Any]) -> Any:
    """Return an offline chart of one of Altair's kinds with the attributes that pickle kept."""
    chart_copy = object.__new__(_offline_class(kind))
    vars(chart_copy).update(attributes)
    return chart_copy


def _offline_chart(altair_chart: Any) -> Any:
    """Return a chart that Altair composed, turned into an offline chart; Altair's attributes stay."""
    kind: Any = type(altair_chart)
    if "_repr_mimebundle_" not in vars(kind):
        object.__setattr__(altair_chart, "__class__", _offline_class(kind))
    return altair_chart
