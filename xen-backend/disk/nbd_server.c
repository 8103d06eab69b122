// SPDX-License-Identifier: GPL-2.0-or-later
/* The life of a qemu-nbd; see nbd_server.h. */
#include "disk/nbd_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#define PROGRAM "qemu-nbd"
#define END_MS 2000U /* a process that waits for a dead disk cannot be ended */

extern char **environ;

struct nbd_server {
	pid_t pid; /* 0: it has ended */
	int said;  /* its standard error */
	char line[256];
	char folder[96];
	char socket[108]; /* what an address has room for */
};

const char *nbd_server_socket(const struct nbd_server *s)
{
	return s->socket;
}

void nbd_server_hide(struct nbd_server *s)
{
	if (!s->folder[0])
		return;
	unlink(s->socket);
	rmdir(s->folder);
	s->folder[0] = '\0';
}

/* systemd's RuntimeDirectory=, in which alone a confined vreadd may write. */
static int make_folder(struct nbd_server *s)
{
	const char *runtime = getenv("RUNTIME_DIRECTORY");
	int n = snprintf(s->folder, sizeof(s->folder), "%s/nbd-XXXXXX", runtime ? runtime : "/tmp");

	if ((size_t)n >= sizeof(s->folder) || !mkdtemp(s->folder)) {
		s->folder[0] = '\0';
		return (size_t)n >= sizeof(s->folder) ? -ENAMETOOLONG : -errno;
	}
	snprintf(s->socket, sizeof(s->socket), "%s/socket", s->folder);
	return 0;
}

/* In QEMU's options a comma ends a value, two of them are one. */
static char *image_options(const char *path, const char *driver)
{
	char *options = NULL, *to;
	size_t commas = 0;
	int n;

	for (const char *p = path; *p; p++)
		commas += *p == ',';
	n = asprintf(&options,
		     "driver=%s,read-only=on,force-share=on,file.driver=file,file.filename=%s%*s",
		     driver, path, (int)commas, "");
	if (n < 0)
		return NULL;
	to = options + (size_t)n - commas - strlen(path);
	for (const char *p = path; *p; p++) {
		*to++ = *p;
		if (*p == ',')
			*to++ = ',';
	}
	*to = '\0';
	return options;
}

static int spawn(struct nbd_server *s, char **argv)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, usual;
	int r;

	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, s->said, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, s->said, STDERR_FILENO);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &usual);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	r = posix_spawnp(&s->pid, PROGRAM, &files, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	if (r)
		s->pid = 0;
	return -r;
}

static int start(struct nbd_server *s, const char *path, const char *driver, bool direct,
		 unsigned clients)
{
	char *options = image_options(path, driver), shared[32];
	char *argv[] = {
		PROGRAM,        "--read-only", direct ? "--cache=none" : "--cache=writeback",
		shared,         "--socket",    s->socket,
		"--image-opts", options,       NULL};
	int r;

	if (!options)
		return -ENOMEM;
	snprintf(shared, sizeof(shared), "--shared=%u", clients);
	s->said = memfd_create("qemu-nbd", MFD_CLOEXEC);
	r = s->said < 0 ? -errno : make_folder(s);
	if (r == 0)
		r = spawn(s, argv);
	free(options);
	return r;
}

int nbd_server_start(const char *path, const char *driver, bool direct, unsigned clients,
		     struct nbd_server **ret, char **ret_error)
{
	struct nbd_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", path);
	s->said = -1;
	r = start(s, path, driver, direct, clients);
	if (r < 0) {
		nbd_server_stop(s);
		return error_text(ret_error, r, "image %s: cannot start " PROGRAM ": %s%s", path,
				  strerror(-r),
				  r == -ENOENT ? "; install it (Debian: qemu-utils)" : "");
	}
	*ret = s;
	return 0;
}

bool nbd_server_is_alive(struct nbd_server *s)
{
	if (s->pid && waitpid(s->pid, NULL, WNOHANG) == s->pid)
		s->pid = 0;
	return s->pid;
}

const char *nbd_server_said(struct nbd_server *s)
{
	ssize_t n = pread(s->said, s->line, sizeof(s->line) - 1, 0);
	char *end;

	s->line[n > 0 ? n : 0] = '\0';
	end = strchr(s->line, '\n');
	if (end)
		*end = '\0';
	return s->line;
}

void nbd_server_kill(struct nbd_server *s)
{
	/* It only reads: there is nothing it has to put in order. */
	if (s->pid)
		kill(s->pid, SIGKILL);
}

static void end(struct nbd_server *s)
{
	nbd_server_kill(s);
	for (unsigned i = 0; i < END_MS / 2 && nbd_server_is_alive(s); i++)
		clock_rest_us(2000);
	if (s->pid)
		log_warn(PROGRAM " (process %d) cannot be ended: it waits for its disk",
			 (int)s->pid);
}

void nbd_server_stop(struct nbd_server *s)
{
	if (!s)
		return;
	if (nbd_server_is_alive(s))
		end(s);
	nbd_server_hide(s);
	if (s->said >= 0)
		close(s->said);
	free(s);
}
