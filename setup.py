"""What pyproject.toml cannot say: the package carries the engine and the presets inside, which in a checkout lie beside it."""

from pathlib import Path

from setuptools import find_packages, setup

EXPLORER = ("streamlit", "vl-convert-python")  # what only the explorer needs
PINNED = [line for line in Path("requirements.txt").read_text(encoding="utf-8").splitlines() if line[:1].isalpha()]

setup(
    packages=["emberpool", "emberpool.presets", *(f"emberpool.{name}" for name in find_packages(include=["engine", "engine.*"]))],
    package_dir={"emberpool": "emberpool", "emberpool.presets": "presets", "emberpool.engine": "engine"},
    package_data={"emberpool": ["py.typed"], "emberpool.presets": ["*"], "emberpool.engine": ["**/*.toml", "**/*.json*"]},
    extras_require={"measure": ["torch>=2.13.0"]},
    install_requires=[line.replace("==", ">=") for line in PINNED if not line.startswith(EXPLORER)],
)
