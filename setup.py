"""What pyproject.toml cannot say: the package carries the engine and the presets inside, which in a checkout lie beside it."""

from setuptools import find_packages, setup

setup(
    packages=["emberpool", "emberpool.presets", *(f"emberpool.{name}" for name in find_packages(include=["engine", "engine.*"]))],
    package_dir={"emberpool": "emberpool", "emberpool.presets": "presets", "emberpool.engine": "engine"},
    package_data={
        "emberpool": ["py.typed"],
        "emberpool.presets": ["*"],
        "emberpool.engine": ["**/*.toml", "**/*.json*", "**/*.csv"],
    },
)
