#!/bin/sh
# Makes sure that a Chromium for the browser tests is installed; prints nothing when there is one.
set -eu
say() { echo "$1" >&2; exit 1; }
works() {
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        "$name" --version >/dev/null 2>&1 && return 0
    done
    return 1
}

works && exit 0
root=""
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || say "The browser tests need Chromium, and installing it needs root: ask for the package 'chromium', or install Google Chrome."
    root=sudo
fi
echo "Installing Chromium for the browser tests ..." >&2
if command -v apt-get >/dev/null; then
    $root apt-get update -qq && $root apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >&2 || true
elif command -v dnf >/dev/null; then
    $root dnf install -y -q chromium >&2 || true
elif command -v apk >/dev/null; then
    $root apk add -q chromium font-dejavu >&2 || true
elif command -v pacman >/dev/null; then
    $root pacman -Sy --noconfirm --needed chromium ttf-dejavu >&2 || true
fi
works || say "The browser tests need Chromium, and it could not be installed; install the package 'chromium' or Google Chrome and run make again."
