#!/bin/sh
# Installs what building and testing need, where it is missing. tests/deps.sh [build|test|demo]: for that alone (default:
# everything).
set -eu
build="build-essential clang bpftool pkg-config libbpf-dev libdw-dev libelf-dev libzstd-dev liblzma-dev libjansson-dev libinih-dev
	libiberty-dev binutils-dev zlib1g-dev"
# Node may be there in a newer version than Debian's, beside which Debian's npm cannot be installed.
command -v node >/dev/null || build="$build nodejs"
command -v npm >/dev/null || build="$build npm"
demo=""
test="libcriterion-dev clang-format libclang-rt-14-dev llvm lld python3 python3-scipy man-db mandoc shellcheck zstd binutils xz-utils
	qemu-system-x86 qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross busybox-static cpio kmod acpica-tools
	linux-perf procps util-linux elfutils
	chromium xvfb x11-utils libgl1-mesa-dri mesa-vulkan-drivers mesa-utils mesa-utils-bin vulkan-tools libsdl2-tests neverball
	dsda-doom freedoom minetest vkd3d-demos glmark2-x11
	protobuf-compiler python3-protobuf python3-jsonschema"

case ${1:-all} in
build) wanted=$build ;;
demo) wanted="$build $demo" ;;
test | all) wanted="$build $demo $test" ;;
*) echo "usage: tests/deps.sh [build|demo|test|all]" >&2; exit 2 ;;
esac
if ! command -v dpkg-query >/dev/null; then
	echo "deps: this is no Debian: install the counterparts of: $wanted" >&2
	exit 0
fi
missing=
for package in $wanted; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "deps: these packages are missing; run as root: apt-get install$missing" >&2
	exit 1
fi
echo "deps: installing$missing"
apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
