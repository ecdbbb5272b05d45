#!/bin/sh
# Installs one requirements file into .venv, which it creates with $PYTHON (python3) where there is none.
set -eu
cd "$(dirname "$0")/.."
say() { echo "$1" >&2; exit 1; }

python=${PYTHON:-python3}
if [ ! -x .venv/bin/python ]; then
    command -v "$python" >/dev/null || say "Emberpool needs Python 3.11 or newer, and there is no '$python'; install it or name one: make PYTHON=python3.12"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        say "Emberpool needs Python 3.11 or newer, '$python' is $("$python" -V 2>&1); name another: make PYTHON=python3.12"
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        say "'$python' lacks the venv module; install it (on Debian and Ubuntu: apt-get install python3-venv) and run make again."
fi
# A half-made environment is made again: pip is the last thing that venv puts there.
.venv/bin/python -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear .venv
echo "Installing $1 into .venv ..." >&2
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$1" ||
    say "The packages of $1 could not be installed; the lines above say why. Run make again once that is solved."
