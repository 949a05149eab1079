/* How many CPUs this process may use, and how many threads its environment asks for.
 *
 * CPUs are those of the affinity mask, and no more than a quota of the process's cgroup, or of one
 * around it, pays for (version 1 and 2). Nothing here fails: what cannot be read is no limit.
 * Texts and paths are on the heap, since the thread that asks may have a small stack.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

/* Where /proc and /sys are; another folder in tests. */
#ifndef KINA_ROOT
#define KINA_ROOT ""
#endif

enum { NUMBER = 64, LINES = 8192, PATH = 4352 };

/* The first number of a list such as "4,2"; 0 for anything but a positive number. */
static int64_t first_number(const char *text) {
    char *end;
    long long number = text ? strtoll(text, &end, 10) : 0;
    if (number <= 0) return 0;
    return *end == '\0' || *end == ',' || *end == ' ' ? number : 0;
}

/* What KINA_NUM_THREADS, or else OMP_NUM_THREADS asks for; 0 if neither does. */
static int64_t threads_asked_for(void) {
    int64_t count = first_number(getenv("KINA_NUM_THREADS"));
    return count ? count : first_number(getenv("OMP_NUM_THREADS"));
}

struct texts {
    char groups[LINES], folder[PATH], path[PATH + NUMBER];
};

/* Reads a small file as text; an empty text if that is impossible. */
static void read_text(const char *path, char *text, size_t room) {
    size_t length = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t more;
        while (length < room - 1 && (more = read(file, text + length, room - 1 - length)) > 0)
            length += (size_t)more;
        close(file);
    }
    text[length] = '\0';
}

static void read_in(struct texts *at, const char *name, char *text) {
    snprintf(at->path, sizeof at->path, "%s/%s", at->folder, name);
    read_text(at->path, text, NUMBER);
}

/* The whole CPUs that the quota of one cgroup pays for, at least 1; INT64_MAX without a quota. */
static int64_t quota_in(struct texts *at) {
    char text[NUMBER], *end;
    long long quota, period;
    read_in(at, "cpu.max", text);
    if (text[0] != '\0') { /* version 2: "max 100000" or "150000 100000" */
        quota = strtoll(text, &end, 10);
        period = strtoll(end, NULL, 10);
    } else {
        read_in(at, "cpu.cfs_quota_us", text);
        quota = strtoll(text, NULL, 10);
        read_in(at, "cpu.cfs_period_us", text);
        period = strtoll(text, NULL, 10);
    }
    if (quota <= 0 || period <= 0) return INT64_MAX;
    return quota < period ? 1 : quota / period;
}

/* The least quota of a cgroup and of all that are around it. */
static int64_t quota_above(struct texts *at, const char *mounted, const char *group) {
    char *folder = at->folder;
    int64_t least = INT64_MAX;
    size_t top = (size_t)snprintf(folder, PATH, "%s%s", KINA_ROOT, mounted);
    if (strlen(group) >= PATH - top) return least;
    strcpy(folder + top, group);
    for (;;) {
        int64_t quota = quota_in(at);
        char *last = strrchr(folder + top, '/');
        if (quota < least) least = quota;
        if (last == NULL) return least;
        *last = '\0';
    }
}

/* Whether a list such as "cpu,cpuacct" has "cpu". */
static int has_cpu(const char *list) {
    for (; list; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, "cpu", 3) == 0 && (list[3] == ',' || list[3] == '\0')) return 1;
    }
    return 0;
}

static int64_t least_quota(struct texts *at) {
    char mounted[NUMBER];
    int64_t least = INT64_MAX;
    read_text(KINA_ROOT "/proc/self/cgroup", at->groups, LINES);
    for (char *line = at->groups, *next; *line; line = next) { /* "4:cpu,cpuacct:/some/group" */
        next = line + strcspn(line, "\n");
        if (*next) *next++ = '\0';
        char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
        if (group == NULL) continue;
        *group++ = '\0';
        list++;
        if (*list && !has_cpu(list)) continue;
        snprintf(mounted, sizeof mounted, "/sys/fs/cgroup%s%s", *list ? "/" : "", list);
        int64_t found = quota_above(at, mounted, group);
        if (found < least) least = found;
    }
    return least;
}

/* The CPUs that the cgroups of this process pay for; INT64_MAX if they do not say. */
static int64_t quota(void) {
    struct texts *texts = malloc(sizeof *texts);
    int64_t least = texts ? least_quota(texts) : INT64_MAX;
    free(texts);
    return least;
}

/* The CPUs of the affinity mask. */
static int64_t allowed_cpus(void) {
    long count = 0;
#ifdef __linux__
    cpu_set_t mask[8]; /* as many as Linux can have */
    if (sched_getaffinity(0, sizeof mask, mask) == 0) count = CPU_COUNT_S(sizeof mask, mask);
#endif
    if (count <= 0) count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? count : 1;
}

static int64_t usable_cpus(void) {
    int64_t allowed = allowed_cpus(), paid = quota();
    return paid < allowed ? paid : allowed;
}
