/* SPDX-License-Identifier: GPL-2.0-or-later */
/* control_client.c - implements control_client.h: sends one line of JSON and reads one line back.
 * A vreadd that hangs is given up after TIMEOUT_SECONDS. */
#include "control_client.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli.h"
#include "datanode/parser.h"

#define TIMEOUT_SECONDS 15
_Static_assert(TIMEOUT_SECONDS * 1000U > PARSER_ANSWER_MS,
	       "a status waits for a parser that hangs");
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

/* Reads up to the end of file.  *ret: a text; free() it. */
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

static int no_daemon(const char *path, int error, char **ret_error)
{
	switch (error) {
	case -ENOENT:
		error_text(ret_error, error,
			   "%s: no such socket; is vreadd running, with this control-socket?",
			   path);
		return CLI_NO_PEER;
	case -ECONNREFUSED:
		error_text(ret_error, error, "%s: vreadd is not running; start it", path);
		return CLI_NO_PEER;
	case -EACCES:
		error_text(ret_error, error, "%s: permission denied; ask as root", path);
		return CLI_FAILED;
	case -EAGAIN:
		error_text(ret_error, error, "%s: no answer within %d s; is vreadd stuck?", path,
			   TIMEOUT_SECONDS);
		return CLI_NO_PEER;
	default:
		error_text(ret_error, error, "%s: %s", path, strerror(-error));
		return CLI_FAILED;
	}
}

static int exchange(const char *path, const char *request, char **ret)
{
	struct iovec parts[2] = {{(char *)request, strlen(request)}, {"\n", 1}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	int fd = open_socket(path), r;

	if (fd < 0)
		return fd;
	if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
		r = -errno;
	else
		r = read_all(fd, ret);
	close(fd);
	return r;
}

int control_ask_status(const char *path, json_t **ret)
{
	return control_ask(path, json_pack("{s:s}", "command", "status"), ret);
}

int control_ask(const char *path, json_t *request, json_t **ret)
{
	char *error = NULL;
	int r = control_try(path, request, ret, &error);

	if (r)
		cli_error(r, "%s", error ? error : "out of memory");
	free(error);
	return r;
}

int control_try(const char *path, json_t *request, json_t **ret, char **ret_error)
{
	char *line = NULL, *asked = json_dumps(request, JSON_COMPACT);
	json_error_t error;
	json_t *answer;
	const char *text;
	int r = asked ? exchange(path, asked, &line) : -ENOMEM;

	json_decref(request);
	free(asked);
	if (r)
		return no_daemon(path, r, ret_error);
	answer = json_loads(line, JSON_REJECT_DUPLICATES, &error);
	free(line);
	text = json_string_value(json_object_get(answer, "error"));
	if (!json_is_object(answer))
		error_text(ret_error, -EPROTO, "%s: the answer is not a JSON object", path);
	else if (text)
		error_text(ret_error, -EPROTO, "%s: %s", path, text);
	else
		*ret = answer;
	if (json_is_object(answer) && !text)
		return 0;
	json_decref(answer);
	return CLI_FAILED;
}

int control_take_options(int argc, char **argv, const struct option *options,
			 struct control_options *ret)
{
	int c;

	*ret = (struct control_options){.socket = CONTROL_DEFAULT_SOCKET};
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'j')
			ret->json = true;
		else if (c == 's')
			ret->socket = optarg;
		else if (c == 'o')
			ret->output = optarg;
		else
			return cli_bad_option();
	}
	return optind < argc ? cli_usage("%s: unexpected argument", argv[optind]) : CLI_OK;
}
