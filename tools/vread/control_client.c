/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One question, one line of JSON back; a daemon that is stuck costs some seconds. */
#include "control_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli.h"

#define TIMEOUT_SECONDS 5
#define MAX_ANSWER ((size_t)64 << 20)

static int open_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval timeout = {.tv_sec = TIMEOUT_SECONDS};
	int fd, r;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

/* Everything up to the end of file; *ret is allocated and terminated. */
static int read_all(int fd, char **ret)
{
	size_t used = 0, room = 4096;
	char *text = malloc(room);
	ssize_t n;

	while (text) {
		n = recv(fd, text + used, room - used - 1, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
		if (room - used > 1)
			continue;
		room *= 2;
		if (room > MAX_ANSWER) {
			errno = EMSGSIZE;
			n = -1;
			break;
		}
		char *grown = realloc(text, room);
		if (!grown)
			free(text);
		text = grown;
	}
	if (!text)
		return -ENOMEM;
	if (n < 0) {
		n = -errno;
		free(text);
		return (int)n;
	}
	text[used] = '\0';
	*ret = text;
	return 0;
}

static int no_daemon(const char *path, int error)
{
	switch (error) {
	case -ENOENT:
		return cli_error(CLI_NO_PEER,
				 "%s: not there; is vreadd running, with this control-socket?",
				 path);
	case -ECONNREFUSED:
		return cli_error(CLI_NO_PEER, "%s: vreadd is not running; start it", path);
	case -EACCES:
		return cli_error(CLI_FAILED, "%s: permission denied; ask as root", path);
	case -EAGAIN:
		return cli_error(CLI_NO_PEER, "%s: no answer within %d s; is vreadd stuck?", path,
				 TIMEOUT_SECONDS);
	default:
		return cli_error(CLI_FAILED, "%s: %s", path, strerror(-error));
	}
}

static int exchange(const char *path, char **ret)
{
	static const char request[] = "{\"command\": \"status\"}\n";
	int fd = open_socket(path), r;

	if (fd < 0)
		return fd;
	if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
		r = -errno;
	else
		r = read_all(fd, ret);
	close(fd);
	return r;
}

int control_ask_status(const char *path, json_t **ret)
{
	json_error_t error;
	json_t *answer;
	const char *text;
	char *line = NULL;
	int r = exchange(path, &line);

	if (r)
		return no_daemon(path, r);
	answer = json_loads(line, JSON_REJECT_DUPLICATES, &error);
	free(line);
	if (!json_is_object(answer)) {
		json_decref(answer);
		return cli_error(CLI_FAILED, "%s: the answer is not a JSON object", path);
	}
	text = json_string_value(json_object_get(answer, "error"));
	if (text) {
		cli_error(CLI_FAILED, "%s: %s", path, text);
		json_decref(answer);
		return CLI_FAILED;
	}
	*ret = answer;
	return 0;
}
