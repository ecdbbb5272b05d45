#!/bin/sh
# Writes locked/: each requirements file with all that it needs, as constraints.txt pins it, and the SHA-256 of every file of these
# releases, so that any platform installs. It asks the one index that pip is told to use: further ones may lack files.
set -eu
cd "$(dirname "$0")/.."
index=$(.venv/bin/python -m pip config list | tr -d "'" | sed -n 's/^.*[.]index-url=/--index-url /p')
for file in requirements.txt requirements-dev.txt requirements-dask.txt requirements-docs.txt; do
    # shellcheck disable=SC2086
    UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-true} .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate -c constraints.txt $index "$file" --output-file "locked/$file"
done
