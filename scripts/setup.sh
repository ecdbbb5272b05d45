#!/bin/sh
# Installs requirements files into .venv, which it creates with $PYTHON (python3) where there is none; with ALONE=yes the packages
# without what they ask for. Files that locked/ has are installed by their hashes there.
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
echo "Installing $* into .venv ..." >&2
# A half-made environment is made again: pip is the last thing that venv puts there.
.venv/bin/python -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear .venv
pip() { .venv/bin/python -m pip "$@"; }
hashes=--require-hashes
for file in "$@"; do [ -f "locked/$file" ] || hashes=; done
wanted="${ALONE:+--no-deps }$hashes $(printf -- "-r ${hashes:+locked/}%s " "$@")"

# uv installs in a fifth of pip's time, from where pip is told to look; where it cannot, pip does.
sources=$(pip config list | tr -d "'" | sed -n 's/=/ /; s/^.*[.]\(\(extra-\)*index-url\|find-links\) /\1 /p' |
    while read -r option places; do for place in $places; do printf -- '--%s %s ' "$option" "$place"; done; done)
uv=$(command -v uv || echo .venv/bin/uv)
[ -x "$uv" ] || sed -n '/^uv==/,/[^\\]$/p' locked/requirements-dev.txt |
    pip install --quiet --no-compile --require-hashes -r /dev/stdin 2>/dev/null || true
# Indexes are mixed, as a file's hash decides and not its place. Only the oracles of `make slow` have no hashes: which file of
# PyTorch fits depends on the index, as the ones for CPUs and for CUDA differ.
# shellcheck disable=SC2086
UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-true} "$uv" pip install --quiet --python .venv/bin/python \
    --index-strategy unsafe-best-match $sources $wanted 2>/dev/null && exit 0
# Without --no-compile, pip would compile for half a minute what is mostly never imported.
# shellcheck disable=SC2086
pip install --quiet --no-compile --disable-pip-version-check $wanted ||
    say "The packages of $* could not be installed; the lines above say why. Run make again once that is solved."
