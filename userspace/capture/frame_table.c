#include "capture/frame_table.h"

#include "capture/mark_library.h"

#include <string.h>

/* Ranks, nearest to the driver first. A function calls those above it in this list, so where several fire,
 * the nearest one sees every frame once, whoever asked for it. */
enum {
	RANK_DRIVER,	/* the driver's own present, or the producer's end of a buffer queue */
	RANK_WSI,	/* Mesa's code that all of its Vulkan drivers present through */
	RANK_LAYER,	/* a Vulkan layer that takes presents over */
	RANK_INTERFACE, /* GLX, EGL */
	RANK_STUB,	/* exports that only pass on: libGL to libGLX, the Vulkan loader to the driver */
	RANK_SDL3,
	RANK_SDL2, /* may be SDL3 behind */
	RANK_SDL1,
};

static const struct fperf_frame_candidate table[] = {
	/* vkQueuePresentKHR(queue, info): programs ask for the driver's address and bypass every export. */
	{"libvulkan_*", NULL, RANK_DRIVER, 0},
	{"libGLX_nvidia.so.*", NULL, RANK_DRIVER, 0},
	{"libvk_swiftshader.so", NULL, RANK_DRIVER, 0},
	{"amdvlk64.so", NULL, RANK_DRIVER, 0},
	/* Surface::queueBuffer(this, ANativeWindowBuffer *, int[, SurfaceQueueBufferOutput *]) */
	{"libgui.so", "_ZN7android7Surface11queueBufferEP19ANativeWindowBufferi", RANK_DRIVER, 0},
	{"libgui.so",
	 "_ZN7android7Surface11queueBufferEP19ANativeWindowBufferiPNS_24SurfaceQueueBufferOutputE",
	 RANK_DRIVER, 0},
	{"libvulkan_*", "wsi_common_queue_present", RANK_WSI, 2},
	{"libVkLayer_FROG_gamescope_wsi*", "QueuePresentKHR", RANK_LAYER, 0},
	/* glXSwapBuffers(display, drawable), eglSwapBuffers(display, surface) */
	{"libGLX.so.0", "glXSwapBuffers", RANK_INTERFACE, 1},
	{"libEGL.so.1", "eglSwapBuffers", RANK_INTERFACE, 1},
	{"libEGL.so.1", "eglSwapBuffersWithDamageKHR", RANK_INTERFACE, 1},
	{"libEGL.so.1", "eglSwapBuffersWithDamageEXT", RANK_INTERFACE, 1},
	{"libEGL.so", "eglSwapBuffers", RANK_INTERFACE, 1}, /* Android, ANGLE */
	{"libEGL.so", "eglSwapBuffersWithDamageKHR", RANK_INTERFACE, 1},
	{"libGL.so.1", "glXSwapBuffers", RANK_STUB, 1},
	{"libvulkan.so.1", "vkQueuePresentKHR", RANK_STUB, 0},
	{"libvulkan.so", "vkQueuePresentKHR", RANK_STUB, 0},
	/* SDL_GL_SwapWindow(window), SDL_RenderPresent(renderer), SDL_UpdateWindowSurface(window) */
	{"libSDL3.so.0", "SDL_GL_SwapWindow", RANK_SDL3, 0},
	{"libSDL3.so.0", "SDL_RenderPresent", RANK_SDL3, 0},
	{"libSDL3.so.0", "SDL_UpdateWindowSurface", RANK_SDL3, 0},
	{"libSDL2-2.0.so.0", "SDL_GL_SwapWindow", RANK_SDL2, 0},
	{"libSDL2-2.0.so.0", "SDL_RenderPresent", RANK_SDL2, 0},
	{"libSDL2-2.0.so.0", "SDL_UpdateWindowSurface", RANK_SDL2, 0},
	{"libSDL-1.2.so.0", "SDL_GL_SwapBuffers", RANK_SDL1, FPERF_NO_SURFACE},
	{"libSDL-1.2.so.0", "SDL_Flip", RANK_SDL1, 0},
};

const struct fperf_frame_candidate *fperf_frame_table(size_t *count)
{
	*count = sizeof(table) / sizeof(table[0]);
	return table;
}

bool fperf_frame_table__is_vulkan_driver(const char *path)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!table[i].symbol && fperf_library__matches(path, table[i].library))
			return true;
	return false;
}
