// SPDX-License-Identifier: GPL-2.0-or-later
/* doctor.c - `vread doctor`: runs the checks of this domain, and prints what they found (doctor.h).
 * The operator runs it, in dom0 or in a guest. */
#include "doctor.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../commands.h"
#include "cli/text.h"
#include "checks.h"

/* In the order of the chain: later checks rely on the results of earlier ones. */
static const struct doctor_check checks[] = {
	{"xen", DOCTOR_DOM0, check_xen},
	{"configuration", DOCTOR_DOM0, check_config},
	{"xen devices", DOCTOR_DOM0, check_xen_nodes},
	{"xenstore", DOCTOR_DOM0, check_xenstore},
	{"vreadd", DOCTOR_DOM0, check_daemon},
	{"ports", DOCTOR_DOM0, check_ports},
	{"images", DOCTOR_DOM0, check_images},
	{"datanodes", DOCTOR_DOM0, check_datanodes},
	{"parsers", DOCTOR_DOM0, check_parsers},
	{"libguestfs", DOCTOR_DOM0, check_provision},
	{"certificates", DOCTOR_DOM0, check_certificates},
	{"peers", DOCTOR_DOM0, check_peers},
	{"rdma", DOCTOR_DOM0, check_rdma},
	{"devices", DOCTOR_DOM0, check_devices},
	{"xen", DOCTOR_DOMU, check_guest},
	{"module", DOCTOR_DOMU, check_module},
	{"device", DOCTOR_DOMU, check_device},
	{"node", DOCTOR_DOMU, check_node},
	{"protocol", DOCTOR_DOMU, check_protocol},
	{"answer", DOCTOR_DOMU, check_answer},
	{"allowed", DOCTOR_DOMU, check_allowed},
	{"hadoop", DOCTOR_DOMU, check_hadoop},
	{"java", DOCTOR_DOMU, check_java},
};

/* ---- findings ------------------------------------------------------------------------- */

static void find(struct doctor *d, const char *result, const char *object, const char *remedy,
		 const char *format, va_list args)
{
	char found[1024];
	json_t *finding;

	vsnprintf(found, sizeof(found), format, args);
	finding = json_pack("{s:s, s:s, s:s, s:s, s:s*}", "check", d->check, "result", result,
			    "object", object, "found", found, "remedy", remedy);
	if (!finding) /* a name that is not UTF-8 */
		finding = json_pack("{s:s, s:s, s:s, s:s}", "check", d->check, "result", result,
				    "object", "-", "found", "a name that is not UTF-8");
	json_array_append_new(d->findings, finding);
}

void doctor_ok(struct doctor *d, const char *object, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	find(d, "ok", object, NULL, format, args);
	va_end(args);
}

void doctor_skip(struct doctor *d, const char *object, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	find(d, "not applicable", object, NULL, format, args);
	va_end(args);
}

void doctor_warn(struct doctor *d, const char *object, const char *remedy, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	find(d, "warning", object, remedy, format, args);
	va_end(args);
}

void doctor_fail(struct doctor *d, const char *object, const char *remedy, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	find(d, "failed", object, remedy, format, args);
	va_end(args);
}

#define INDENT 9 /* columns */

/* ---- printing --------------------------------------------------------------------------- */

static unsigned count(const struct doctor *d, const char *result)
{
	unsigned n = 0;
	json_t *finding;
	size_t i;

	json_array_foreach(d->findings, i, finding)
	{
		n += !strcmp(text_member(finding, "result"), result);
	}
	return n;
}

static const char *label_of(const char *result)
{
	if (!strcmp(result, "failed"))
		return "FAILED";
	if (!strcmp(result, "warning"))
		return "WARNING";
	return strcmp(result, "ok") ? "-" : "ok";
}

static void print_finding(const json_t *finding, bool all)
{
	const char *result = text_member(finding, "result");
	const char *remedy = json_string_value(json_object_get(finding, "remedy"));
	char line[2048];

	if (!all && strcmp(result, "failed") && strcmp(result, "warning"))
		return;
	snprintf(line, sizeof(line), "%s: %s", text_member(finding, "object"),
		 text_member(finding, "found"));
	text_wrap_after(stdout, INDENT, label_of(result), line);
	if (!remedy)
		return;
	snprintf(line, sizeof(line), "-> %s", remedy);
	text_wrap(stdout, INDENT, line);
}

static void print_text(const struct doctor *d, bool all)
{
	unsigned warnings;
	json_t *finding;
	size_t i;

	json_array_foreach(d->findings, i, finding)
	{
		print_finding(finding, all);
	}
	warnings = count(d, "warning");
	printf("%s: %u failed, %u warning%s, %u ok, %u not applicable\n",
	       d->role == DOCTOR_DOM0 ? "dom0" : "domU", count(d, "failed"), warnings,
	       warnings == 1 ? "" : "s", count(d, "ok"), count(d, "not applicable"));
}

static void print_json(const struct doctor *d)
{
	json_t *document = json_pack("{s:s, s:O}", "role", d->role == DOCTOR_DOM0 ? "dom0" : "domU",
				     "findings", d->findings);

	json_dumpf(document, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(document);
}

/* ---- running ------------------------------------------------------------------------------ */

/* Xen says whether this is dom0.  Without Xen: dom0 if vreadd is configured or named, else domU. */
static enum doctor_role find_role(const struct doctor *d)
{
	char line[DOCTOR_LINE];

	if (doctor_read_line(d, "/proc/xen/capabilities", line))
		return strstr(line, "control_d") ? DOCTOR_DOM0 : DOCTOR_DOMU;
	if (doctor_read_line(d, "/sys/hypervisor/type", line) && !strcmp(line, "xen"))
		return DOCTOR_DOMU;
	return d->config_path || d->socket || doctor_exists(d, CONFIG_DEFAULT_PATH) ? DOCTOR_DOM0
										    : DOCTOR_DOMU;
}

static void run_checks(struct doctor *d)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (!(checks[i].roles & d->role))
			continue;
		d->check = checks[i].name;
		checks[i].run(d);
	}
}

static int diagnose(struct doctor *d, bool json, bool all)
{
	int code;

	if (!d->role)
		d->role = find_role(d);
	d->findings = json_array();
	run_checks(d);
	if (json)
		print_json(d);
	else
		print_text(d, all);
	code = count(d, "failed") ? CLI_FAILED : CLI_OK;
	json_decref(d->findings);
	json_decref(d->status);
	config_free(d->config);
	if (d->xs)
		xs_close(d->xs);
	return code;
}

static bool parse_role(const char *text, enum doctor_role *ret)
{
	bool dom0 = !strcmp(text, "dom0");

	if (!dom0 && strcmp(text, "domU"))
		return false;
	*ret = dom0 ? DOCTOR_DOM0 : DOCTOR_DOMU;
	return true;
}

enum { ROLE = 256, ROOT, CONFIG, SOCKET, ENDPOINT, USER, HADOOP, CLASS_PATH, DATANODE };

static int take_option(struct doctor *d, int option, const char *value)
{
	switch (option) {
	case ROLE:
		if (!parse_role(value, &d->role))
			return cli_usage("--role %s: expected dom0 or domU", value);
		break;
	case ROOT:
		if (*value != '/')
			return cli_usage("--root %s: expected an absolute path", value);
		d->root = value;
		break;
	case CONFIG:
		d->config_path = value;
		break;
	case SOCKET:
		d->socket = value;
		break;
	case ENDPOINT:
		d->endpoint = value;
		break;
	case USER:
		d->user = value;
		break;
	case HADOOP:
		d->hadoop_conf = value;
		break;
	case CLASS_PATH:
		d->class_path = value;
		break;
	case DATANODE:
		d->datanode = value;
		break;
	}
	return CLI_OK;
}

static int run_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{"role", required_argument, NULL, ROLE},
		{"root", required_argument, NULL, ROOT},
		{"config", required_argument, NULL, CONFIG},
		{"socket", required_argument, NULL, SOCKET},
		{"endpoint", required_argument, NULL, ENDPOINT},
		{"user", required_argument, NULL, USER},
		{"hadoop-conf", required_argument, NULL, HADOOP},
		{"class-path", required_argument, NULL, CLASS_PATH},
		{"datanode", required_argument, NULL, DATANODE},
		{"json", no_argument, NULL, 'j'},
		{"verbose", no_argument, NULL, 'v'},
		{NULL, 0, NULL, 0},
	};
	struct doctor d = {.root = "", .endpoint = getenv("VREAD_ENDPOINT")};
	bool json = false, all = false;
	int c, r;

	while ((c = getopt_long(argc, argv, "v", options, NULL)) != -1) {
		if (c == '?')
			return cli_bad_option();
		json |= c == 'j';
		all |= c == 'v';
		r = take_option(&d, c, optarg);
		if (r)
			return r;
	}
	if (optind < argc)
		return cli_usage("%s: unexpected argument", argv[optind]);
	return diagnose(&d, json, all);
}

const struct command command_doctor = {
	.name = "doctor",
	.run = run_doctor,
	.synopsis = "[-v] [--json] [--role dom0|domU] [OPTION...]",
	.summary = "Checks every link of the chain, and says what to do",
	.options =
		"  -v, --verbose       also what is fine, and what does not apply\n"
		"  --json              as JSON\n"
		"  --role dom0|domU    instead of finding out where this runs\n"
		"  --root DIR          look for /dev, /etc, /lib, /proc, /sys ... under DIR\n"
		"in dom0:\n"
		"  --config FILE       of vreadd (default " CONFIG_DEFAULT_PATH ")\n"
		"  --socket PATH       vreadd's control socket (default: as configured)\n"
		"in a guest:\n"
		"  --endpoint PATH     device or socket (default $VREAD_ENDPOINT or /dev/vread)\n"
		"  --user NAME         who shall read (default: whoever runs this)\n"
		"  --datanode NAME     a datanode this guest shall read\n"
		"  --hadoop-conf DIR   (default $HADOOP_CONF_DIR, then where Hadoop has it)\n"
		"  --class-path PATH   Hadoop's (default: as `hadoop classpath` says)\n",
};
