#include "symbolize/own.h"

#include <string.h>

/* The C and C++ runtime, loaders, windowing, graphics and audio stacks, overlays and sanitizers: not the
 * target's own even when a game carries its own copy. An entry matches the whole file name up to a version:
 * "libGL.so.1", "libGL-1.7.so", "libGL"; with '*' at its end it matches every name that begins so. */
static const char *const runtime_files[] = {
	/* C library and its family, loaders */
	"libc",
	"libm",
	"libmvec",
	"libpthread",
	"libdl",
	"librt",
	"libutil",
	"libresolv",
	"libanl",
	"libnsl",
	"libnss_*",
	"libthread_db",
	"libBrokenLocale",
	"libcrypt",
	"ld",
	"ld-linux*",
	"ld-musl*",
	"ld64",
	"linker",
	"linker64",
	"libc++",
	"libc++_shared",
	"libc++abi",
	"libunwind",
	"libstdc++",
	"libgcc_s",
	"libatomic",
	"libgomp",
	"libomp",
	"libgfortran",
	"libquadmath",
	"libasan",
	"libtsan",
	"libubsan",
	"liblsan",
	"libclang_rt*",
	"libjemalloc",
	"libtcmalloc*",
	"libmimalloc*",
	"libhybris*",
	"libart",
	"libartbase",
	/* windows and input */
	"libSDL*",
	"libglfw*",
	"libX*",
	"libxcb*",
	"libxkbcommon*",
	"libwayland-*",
	"libdecor*",
	"libICE",
	"libSM",
	"libudev",
	"libinput",
	"libevdev",
	"libdbus-1",
	"libsystemd",
	/* graphics: dispatchers, drivers, compilers */
	"libGL",
	"libGLX*",
	"libEGL*",
	"libGLESv*",
	"libGLdispatch",
	"libOpenGL",
	"libGLU",
	"libglapi",
	"libgbm",
	"libdrm*",
	"libgallium*",
	"libvulkan*",
	"libVk*",
	"libLLVM*",
	"libclang*",
	"libnvidia-*",
	"libcuda",
	"libnvoptix",
	"libvdpau*",
	"libva",
	"libva-*",
	"libOpenCL",
	"libMesa*",
	"libMoltenVK",
	"libSPIRV*",
	"libvkd3d*",
	"libd3d*",
	"libgamescope*",
	"libdxvk*",
	"swrast_dri",
	"iris_dri",
	"radeonsi_dri",
	"i965_dri",
	"nouveau_dri",
	"zink_dri",
	"kms_swrast_dri",
	"libswiftshader*",
	"libvk_swiftshader",
	/* overlays and launchers */
	"libMangoHud*",
	"gameoverlayrenderer",
	"libgamemode*",
	"steamclient",
	"libfossilize*",
	"libVkLayer*",
	"librenderdoc",
	"vkbasalt*",
	"libvkbasalt*",
	"libobs*",
	"fps_limiter",
	"libstrangle*",
	/* audio servers and loaders of audio */
	"libasound",
	"libpulse*",
	"libpipewire-*",
	"libjack",
	"libsndio",
	"libopenal",
	"libportaudio*",
	/* Wine */
	"wine",
	"wine64",
	"wine-preloader",
	"wine64-preloader",
	"wineserver",
	"libwine",
};

/* Directories that the system owns, with everything directly in them. */
static const char *const system_dirs[] = {
	"/lib",	      "/lib32",	     "/lib64",	     "/libx32",	       "/usr/lib",	   "/usr/lib32",
	"/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/local/lib", "/usr/local/lib64",
};

/* Directories that the system owns with all that is below. */
static const char *const system_trees[] = {
	"/system",
	"/system_ext",
	"/vendor",
	"/apex",
	"/product",
	"/odm",
	"/data/dalvik-cache",
	"/data/misc",
	"/run/pressure-vessel",
	"/usr/lib/pressure-vessel",
	"/run/opengl-driver",
	"/run/current-system",
	"/snap/core",
	"/snap/core18",
	"/snap/core20",
	"/snap/core22",
	"/snap/core24",
	"/snap/snapd",
	"/boot",
	"/proc",
	"/sys",
	"/dev",
};

/* Subdirectories of the library directories that hold drivers and parts of runtimes. Any other subdirectory
 * is taken for the private one of a game. '*' as above. */
static const char *const runtime_dirs[] = {
	"dri",
	"gallium-pipe",
	"gallium-*",
	"vdpau",
	"gbm",
	"vulkan",
	"mesa*",
	"nvidia*",
	"libdrm*",
	"amdvlk",
	"gconv",
	"locale",
	"audit",
	"security",
	"sasl2",
	"nss",
	"libnss*",
	"engines-*",
	"ossl-modules",
	"krb5",
	"glibc-hwcaps",
	"tls",
	"haswell",
	"x86_64",
	"avx512_1",
	"hwcaps",
	"sse2",
	"atomics",
	"debug",
	"alsa-lib",
	"pulse-*",
	"pulseaudio",
	"pipewire-*",
	"spa-*",
	"jack",
	"ladspa",
	"lv2",
	"openal*",
	"frei0r-*",
	"gstreamer-*",
	"gio",
	"gvfs",
	"gtk-*",
	"gdk-pixbuf-*",
	"girepository-*",
	"libgtk*",
	"qt4",
	"qt5",
	"qt6",
	"qt",
	"libcanberra-*",
	"ImageMagick*",
	"imlib2",
	"enchant*",
	"webkit*",
	"libproxy",
	"dconf",
	"libpeas*",
	"wine*",
	"proton*",
	"mono",
	"monodoc",
	"dotnet",
	"jvm",
	"java*",
	"erlang",
	"node*",
	"nodejs",
	"ruby*",
	"lua*",
	"perl*",
	"python*",
	"pypy*",
	"php",
	"tcl*",
	"guile*",
	"ocaml",
	"ghc",
	"R",
	"rustlib",
	"gcc*",
	"clang*",
	"llvm*",
	"bfd-plugins",
	"ocl*",
	"pocl*",
	"libfakeroot",
	"mangohud",
	"gamemode*",
	"gamescope",
	"obs-*",
	"vkbasalt",
	"renderdoc",
	"steam-runtime*",
	"systemd",
	"dbus-*",
	"udev",
	"NetworkManager",
	"xorg",
	"libv4l*",
	"pkcs11",
	"samba",
	"open-vm-tools",
	"modules",
	"firmware",
	"xtables",
	"iptables",
	"ssl*",
	"blas",
	"lapack",
	"atlas",
	"openblas*",
	"hdf5",
	"openmpi",
	"samba",
	"sane",
	"cups",
	"colord*",
	"babl-*",
	"gegl-*",
	"vlc",
	"mpv",
	"libreoffice",
	"thunderbird",
	"firefox*",
	"chromium*",
	"bpf",
};

/* Libraries that Windows games find in the system directory, whatever directory Wine or Proton put them in.
 */
static const char *const windows_runtime_files[] = {
	"ntdll*",      "kernel32*", "kernelbase*",  "user32*",	  "win32u*",  "gdi32*",	   "advapi32*",
	"ucrtbase*",   "msvcrt*",   "msvcp*",	    "vcruntime*", "concrt*",  "opengl32*", "vulkan-1*",
	"winevulkan*", "winex11*",  "winewayland*", "d3d8*",	  "d3d9*",    "d3d10*",	   "d3d11*",
	"d3d12*",      "dxgi*",	    "dxcore*",	    "wined3d*",	  "xinput*",  "dinput*",   "dsound*",
	"xaudio2*",    "winmm*",    "winepulse*",   "winealsa*",  "combase*", "ole32*",	   "rpcrt4*",
	"ws2_32*",     "wow64*",    "setupapi*",    "sechost*",	  "shell32*", "shlwapi*",  "crypt32*",
	"bcrypt*",     "nvapi*",    "nvngx*",
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* `size` bytes of `name` against an entry of a list. */
static bool entry_matches(const char *entry, const char *name, size_t size)
{
	size_t length = strlen(entry);

	if (entry[length - 1] == '*')
		return size >= length - 1 && !strncmp(name, entry, length - 1);
	return size == length && !strncmp(name, entry, length);
}

static bool list_has(const char *const *list, size_t count, const char *name, size_t size)
{
	for (size_t i = 0; i < count; i++)
		if (entry_matches(list[i], name, size))
			return true;
	return false;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Length of a library's name without ".so…" and without a version in front of it: "libGL", "libc" of
 * "libc-2.31.so", "libSDL2" of "libSDL2-2.0.so.0.2600.5". */
static size_t library_name_size(const char *name)
{
	const char *so = strstr(name, ".so"), *end;
	size_t size = so ? (size_t)(so - name) : strlen(name);

	for (end = name + size; end > name && (strchr("0123456789.", end[-1])); end--)
		;
	return so && end > name + 1 && end[-1] == '-' ? (size_t)(end - 1 - name) : size;
}

static bool is_runtime_file(const char *path)
{
	const char *name = file_name(path), *dot = strrchr(name, '.');

	if (strstr(name, ".so") || !dot)
		return list_has(runtime_files, COUNT(runtime_files), name, library_name_size(name));
	if (!strcmp(dot, ".dll") || !strcmp(dot, ".drv") || !strcmp(dot, ".sys"))
		return list_has(windows_runtime_files, COUNT(windows_runtime_files), name, strlen(name)) ||
		       strstr(path, "/windows/system32/") || strstr(path, "/windows/syswow64/") ||
		       strstr(path, "/lib/wine/") || strstr(path, "/lib64/wine/");
	return false;
}

/* The rest of `path` below `dir`, or NULL. */
static const char *below(const char *path, const char *dir)
{
	size_t size = strlen(dir);

	return !strncmp(path, dir, size) && path[size] == '/' ? path + size + 1 : NULL;
}

/* "x86_64-linux-gnu", "aarch64-linux-gnu", … as Debian names its library directories. */
static bool is_triplet(const char *name, size_t size)
{
	const char *linux_part = "-linux-";

	for (size_t i = 0; i + strlen(linux_part) <= size; i++)
		if (!strncmp(name + i, linux_part, strlen(linux_part)))
			return true;
	return false;
}

/* `rest`: the path below a library directory. */
static bool is_system_library(const char *rest)
{
	size_t size = strcspn(rest, "/");

	if (!rest[size])
		return true;
	if (is_triplet(rest, size))
		return is_system_library(rest + size + 1);
	return list_has(runtime_dirs, COUNT(runtime_dirs), rest, size);
}

static bool is_in_system(const char *path)
{
	const char *rest = below(path, "/run/host"); /* the host's files inside of a Steam container */

	if (rest)
		path = rest - 1;
	for (size_t i = 0; i < COUNT(system_trees); i++)
		if (below(path, system_trees[i]))
			return true;
	for (size_t i = 0; i < COUNT(system_dirs); i++) {
		rest = below(path, system_dirs[i]);
		if (rest && is_system_library(rest))
			return true;
	}
	return strstr(path, "/SteamLinuxRuntime") || strstr(path, "/steam-runtime/") ||
	       strstr(path, "/ubuntu12_32/") || strstr(path, "/ubuntu12_64/") || strstr(path, "/lib/wine/") ||
	       strstr(path, "/lib64/wine/");
}

/* Stores that give each package a directory: what lies in another package than the program is not its own. */
static bool is_other_package(const char *path, const char *const *programs, size_t count)
{
	static const char *const stores[] = {"/nix/store", "/gnu/store"};

	for (size_t i = 0; i < COUNT(stores); i++) {
		const char *rest = below(path, stores[i]);
		size_t size = rest ? (size_t)(rest - path) + strcspn(rest, "/") : 0;

		if (!rest)
			continue;
		for (size_t p = 0; p < count; p++)
			if (!strncmp(path, programs[p], size) && programs[p][size] == '/')
				return false;
		return true;
	}
	return false;
}

bool fperf_own__path(const char *path, const char *const *programs, size_t program_count)
{
	if (!*path || *path == '[' || starts_with(path, "//") || is_runtime_file(path))
		return false;
	for (size_t i = 0; i < program_count; i++)
		if (!strcmp(path, programs[i]))
			return true;
	return !is_in_system(path) && !is_other_package(path, programs, program_count);
}

bool fperf_own__jit_name(const char *name)
{
	/* What Mesa's software renderers call the code that they generate. */
	static const char *const shaders[] = {
		"fs_variant",	"fs_",	    "cs_variant", "setup_variant", "draw_llvm",
		"draw_gs",	"draw_tcs", "draw_tes",	  "vs_variant",	   "gs_variant",
		"sample_",	"image_",   "size_",	  "fetch_",	   "ms_variant",
		"task_variant", "linear_",  "lp_",	  "llvmpipe",
	};

	for (size_t i = 0; i < COUNT(shaders); i++)
		if (starts_with(name, shaders[i]))
			return false;
	return true;
}
