#!/bin/sh
# Runs toa for %{label}.
set -eu

fail() {
    echo "toa: $1" >&2
    exit 2
}

# find_runfiles FILE: what this was called as, or what that is a link to, has its
# runfiles beside it, or is itself among those of another target.
find_runfiles() {
    case $1 in
        /*) file=$1 ;;
        */*) file=$PWD/$1 ;;
        *) file=$(command -v -- "$1") ;;
    esac
    while :; do
        if [ -d "$file.runfiles/%{workspace}" ]; then
            directory=$file.runfiles
            return
        fi
        if [ -f "$file.runfiles_manifest" ]; then
            manifest=$file.runfiles_manifest
            return
        fi
        case $file in *.runfiles/*)
            directory=${file%.runfiles/*}.runfiles
            return
            ;;
        esac
        [ -L "$file" ] || return 0
        target=$(readlink "$file")
        case $target in
            /*) file=$target ;;
            *) file=${file%/*}/$target ;;
        esac
    done
}

directory='' manifest=''
find_runfiles "$0"
if [ -z "$directory$manifest" ]; then
    directory=${RUNFILES_DIR:-} manifest=${RUNFILES_MANIFEST_FILE:-}
fi
if [ -n "$directory" ]; then
    directory=$(cd "$directory" && pwd) || exit 2
    export RUNFILES_DIR="$directory"
    unset RUNFILES_MANIFEST_FILE
elif [ -n "$manifest" ]; then
    export RUNFILES_MANIFEST_FILE="$manifest"
    unset RUNFILES_DIR
else
    fail "no runfiles of $0 are there: bazel build %{label} makes them"
fi

# runfile PATH: where a runfile is.
runfile() {
    if [ -n "$directory" ]; then
        echo "$directory/$1"
        return
    fi
    while read -r name place; do
        if [ "$name" = "$1" ]; then
            echo "$place"
            return
        fi
    done <"$manifest"
    fail "there is no runfile $1"
}

%{arguments}
toa=$(runfile '%{toa}')
cd "${BUILD_WORKING_DIRECTORY:-.}"
exec "$toa" "$@"
