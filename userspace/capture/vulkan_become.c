#include "capture/vulkan_driver.h"

#include "capture/mark_view.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_GROUPS 64

struct identity {
	uid_t uid;
	gid_t gid;
	gid_t groups[MAX_GROUPS];
	size_t group_count;
};

/* Effective ids and supplementary groups, from /proc/PID/status. */
static int identity_read(pid_t pid, struct identity *identity, struct fperf_error *err)
{
	char path[64], line[4096];
	bool has_uid = false, has_gid = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return fperf_error__set_errno(err, -errno, "%s: open", path);
	while (fgets(line, sizeof(line), file)) {
		unsigned id;

		if (sscanf(line, "Uid: %*u %u", &id) == 1) {
			identity->uid = id;
			has_uid = true;
		} else if (sscanf(line, "Gid: %*u %u", &id) == 1) {
			identity->gid = id;
			has_gid = true;
		} else if (!strncmp(line, "Groups:", 7)) {
			char *pos = line + 7, *end;

			for (;; pos = end) {
				unsigned long group = strtoul(pos, &end, 10);

				if (end == pos || identity->group_count == MAX_GROUPS)
					break;
				identity->groups[identity->group_count++] = (gid_t)group;
			}
		}
	}
	fclose(file);
	return has_uid && has_gid ? 0 : fperf_error__set(err, -ESRCH, "%s: tells no user", path);
}

static int view_enter(pid_t pid, struct fperf_error *err)
{
	char path[64];
	int root, mounts, result = 0;

	if (!fperf_view__is_foreign(pid))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	mounts = open(path, O_RDONLY | O_CLOEXEC);
	if (root < 0 || mounts < 0)
		result = fperf_error__set_errno(err, -errno, "%s: open", path);
	else if (setns(mounts, CLONE_NEWNS) || fchdir(root) || chroot(".") || chdir("/"))
		result =
			fperf_error__set_errno(err, -errno, "mount namespace of process %d: enter", (int)pid);
	if (root >= 0)
		close(root);
	if (mounts >= 0)
		close(mounts);
	return result;
}

/* The driver's code comes from the target, which may be less trusted than its user id tells (a container). */
static int capabilities_drop(struct fperf_error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capset, &header, none))
		return fperf_error__set_errno(err, -errno, "capset");
	return 0;
}

int fperf_vulkan_driver__become(pid_t pid, struct fperf_error *err)
{
	struct identity identity = {0};
	int result = identity_read(pid, &identity, err);

	if (!result)
		result = view_enter(pid, err);
	if (result)
		return result;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (geteuid() == 0 && identity.uid != 0 &&
	    (setgroups(identity.group_count, identity.groups) ||
	     setresgid(identity.gid, identity.gid, identity.gid) ||
	     setresuid(identity.uid, identity.uid, identity.uid)))
		return fperf_error__set_errno(err, -errno, "become user %u", identity.uid);
	return capabilities_drop(err);
}
