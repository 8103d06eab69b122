// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * top.c - `xl-vread top`: shows again and again what vreadd does at present.  The operator runs it
 * in dom0.
 *
 * On a terminal each round redraws the screen, cut to its size, until q is pressed.  If vreadd goes
 * away, the rounds go on until vreadd is back.  With --batch tables are printed one after the
 * other, until vreadd does not answer.
 */
#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "../commands.h"
#include "control_client.h"
#include "cli/text.h"
#include "top_table.h"

#define ENTER "\033[?1049h\033[?25l" /* alternate screen, no cursor */
#define LEAVE "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_LINE "\033[2K"
#define REST_OF_SCREEN "\033[J"

struct top {
	const char *socket;
	double delay;              /* seconds */
	unsigned long long rounds; /* 0: for ever */
	bool batch, utf8;
	enum top_sort sort;
	json_t *before, *now;
	double before_at, now_at; /* monotonic seconds */
	struct plot plot;         /* of the bytes given to all readers */
	char *error;              /* why the last question failed; NULL: it did not */
};

static volatile sig_atomic_t ended, resized;

static void on_signal(int number)
{
	if (number == SIGWINCH)
		resized = 1;
	else
		ended = 1;
}

static double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Asks for a new document.  0, or an exit code: then the last document is kept. */
static int ask(struct top *t)
{
	json_t *status;
	int r;

	free(t->error);
	t->error = NULL;
	r = control_try(t->socket, json_pack("{s:s}", "command", "status"), &status, &t->error);
	if (r)
		return r;
	json_decref(t->before);
	t->before = t->now;
	t->before_at = t->now_at;
	t->now = status;
	t->now_at = now_seconds();
	plot_add(&t->plot, text_number(status, "pid"), t->now_at,
		 text_number(json_object_get(status, "totals"), "bytes"));
	return CLI_OK;
}

static void print(const struct top *t, FILE *out)
{
	const struct top_view view = {
		.before = t->before,
		.now = t->now,
		.seconds = t->now_at - t->before_at,
		.sort = t->sort,
		.plot = &t->plot,
		.utf8 = t->utf8,
	};

	if (t->error)
		text_wrap(out, 0, t->error);
	if (t->now)
		top_print(out, &view);
}

/* ---- one table after the other ------------------------------------------------------------- */

static void wait_seconds(double seconds)
{
	struct timespec t = {.tv_sec = (time_t)seconds,
			     .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	nanosleep(&t, NULL); /* a signal ends it early */
}

static int run_batch(struct top *t)
{
	int r = ask(t);

	for (unsigned long long n = 0; !r && !ended && (!t->rounds || n < t->rounds); n++) {
		wait_seconds(t->delay);
		if (ended)
			break;
		r = ask(t);
		if (r)
			break;
		if (n)
			putchar('\n');
		print(t, stdout);
		fflush(stdout);
	}
	return r ? cli_error(r, "%s", t->error ?: "out of memory") : CLI_OK;
}

/* ---- on a terminal ------------------------------------------------------------------------- */

static void size_of_screen(unsigned *rows, unsigned *columns)
{
	struct winsize size;

	*rows = 24;
	*columns = TEXT_WIDTH;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
		*rows = size.ws_row;
		*columns = size.ws_col;
	}
}

static unsigned count_lines(const char *text)
{
	unsigned n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

/* The last line says how many lines did not fit. */
static void draw_text(const char *text)
{
	unsigned rows, columns, lines = count_lines(text), shown;

	size_of_screen(&rows, &columns);
	shown = lines <= rows - 1 ? lines : rows > 2 ? rows - 2 : 1;
	fputs(HOME, stdout);
	for (unsigned i = 0; i < shown; i++) {
		size_t n = strcspn(text, "\n");

		printf(CLEAR_LINE "%.*s\r\n", (int)text_fitting(text, n, columns), text);
		text += n + 1;
	}
	if (shown < lines)
		printf(CLEAR_LINE "... %u more lines: enlarge the window, or see xl-vread status",
		       lines - shown);
	fputs(REST_OF_SCREEN, stdout);
	fflush(stdout);
}

static void draw(const struct top *t)
{
	size_t length;
	char *text = NULL;
	FILE *f = open_memstream(&text, &length);

	if (!f)
		return;
	print(t, f);
	fclose(f);
	draw_text(text);
	free(text);
}

/* Waits until the next round is due.  False: the command is to end. */
static bool wait_for_key(const struct top *t)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	double due = now_seconds() + t->delay;

	while (!ended) {
		double left = due - now_seconds();
		char key;

		if (left <= 0)
			return true;
		if (poll(&p, 1, (int)(left * 1000) + 1) > 0 &&
		    (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q'))
			return false;
		if (resized) {
			resized = 0;
			draw(t);
		}
	}
	return false;
}

static int run_screen(struct top *t)
{
	struct termios before, raw;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return cli_error(CLI_FAILED, "standard input: not a terminal; use --batch");
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs(ENTER, stdout);
	for (unsigned long long n = 0; !t->rounds || n < t->rounds; n++) {
		ask(t);
		draw(t);
		if (!wait_for_key(t))
			break;
	}
	fputs(LEAVE, stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	return CLI_OK;
}

/* ---- the command --------------------------------------------------------------------------- */

static bool parse_delay(const char *text, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	return end != text && !*end && *ret >= 0.1 && *ret <= 3600;
}

/* True if the environment says that the terminal takes UTF-8. */
static bool is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8 = locale && !strcmp(nl_langinfo_l(CODESET, locale), "UTF-8");

	if (locale)
		freelocale(locale);
	return utf8;
}

static void catch_signals(void)
{
	const struct sigaction action = {.sa_handler = on_signal}; /* interrupts calls */

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGWINCH, &action, NULL);
}

static int run_top(int argc, char **argv)
{
	static const struct option options[] = {
		{"batch", no_argument, NULL, 'b'},        {"rounds", required_argument, NULL, 'n'},
		{"delay", required_argument, NULL, 'd'},  {"sort", required_argument, NULL, 'k'},
		{"socket", required_argument, NULL, 's'}, {NULL, 0, NULL, 0},
	};
	struct top t = {.socket = CONTROL_DEFAULT_SOCKET, .delay = 2, .utf8 = is_utf8()};
	int c, r;

	while ((c = getopt_long(argc, argv, "bn:d:", options, NULL)) != -1) {
		if (c == 'b')
			t.batch = true;
		else if (c == 's')
			t.socket = optarg;
		else if (c == '?')
			return cli_bad_option();
		else if (c == 'n' && !cli_number(optarg, 1, 1000000000, &t.rounds))
			return cli_usage("--rounds %s: expected a number, at least 1", optarg);
		else if (c == 'd' && !parse_delay(optarg, &t.delay))
			return cli_usage("--delay %s: expected seconds, from 0.1 to 3600", optarg);
		else if (c == 'k' && !top_sort_parse(optarg, &t.sort))
			return cli_usage("--sort %s: expected " TOP_SORTS, optarg);
	}
	if (optind < argc)
		return cli_usage("%s: unexpected argument", argv[optind]);
	catch_signals();
	r = t.batch ? run_batch(&t) : run_screen(&t);
	json_decref(t.before);
	json_decref(t.now);
	free(t.error);
	return r;
}

const struct command command_top = {
	.name = "top",
	.run = run_top,
	.synopsis = "[-b] [-n N] [-d S] [--sort COLUMN] [--socket PATH]",
	.summary = "Shows what vreadd does at the moment; q quits",
	.options = "  -b, --batch        tables one after the other, for files and pipes\n"
		   "  -n, --rounds N     end after so many\n"
		   "  -d, --delay S      seconds between them (default 2)\n"
		   "  --sort COLUMN      of the devices: bytes (default), here, remote, reads,\n"
		   "                     opens, errors, open or name\n"
		   "  --socket PATH      vreadd's control socket (default " CONTROL_DEFAULT_SOCKET
		   ")\n",
};
