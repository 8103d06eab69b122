// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * init.c - `xl-vread init`: the first use of vRead on a host.  The operator runs it in dom0.
 *
 *     find      domains, their devices, data directories on their disks     look.c
 *     choose    which are datanodes, which are clients: options, or questions
 *     plan      a device for each, shown before anything is written          plan.c
 *     write     as `xl-vread attach` does
 *     wait      until vreadd has taken that up                                await.c
 *     check     as `xl-vread doctor` does
 *
 * No domain becomes a datanode or a client unless the operator names or confirms the domain: a
 * guest can put data directories on its disks, and a client gets the right to read.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../by_keys.h"
#include "../commands.h"
#include "../datanode.h"
#include "../kvm.h"
#include "await.h"
#include "kvm.h"
#include "plan.h"

enum { OPTION_DATANODE = 1000, OPTION_CLIENT };

struct init {
	/* Options.  Both lists have room for all arguments. */
	const char **datanodes, **clients;
	unsigned num_datanodes, num_clients;
	bool yes;

	struct xs_handle *xs;
	struct config *config;
	struct looked *looked;
	unsigned count;
};

/* ---- finding ------------------------------------------------------------------------- */

static int take_domains(struct init *n, const struct domain *domains, unsigned count)
{
	struct keys_list keys;
	int r = by_keys_read(n->xs, n->config, &keys);

	if (r)
		return cli_error(CLI_FAILED, "xenstore: cannot read the keys of datanodes: %s",
				 strerror(-r));
	n->looked = calloc(count, sizeof(*n->looked));
	if (!n->looked) {
		keys_free(&keys);
		return cli_error(CLI_FAILED, "out of memory");
	}
	n->count = count;
	for (unsigned i = 0; i < count && !r; i++) {
		n->looked[i].domain = domains[i];
		r = look_at_devices(n->xs, n->config, &keys, &n->looked[i]);
	}
	keys_free(&keys);
	return r;
}

static int find_domains(struct init *n)
{
	struct domain *domains = NULL;
	int count, r;

	n->xs = xs_open(0);
	count = n->xs ? domains_list(n->xs, &domains) : -errno;
	if (count < 0)
		return kvm_no_xenstore(-count);
	if (count)
		r = datanode_load(&n->config) ?: take_domains(n, domains, (unsigned)count);
	else
		r = cli_error(CLI_FAILED,
			      "no domain runs here besides dom0: start the domains of the "
			      "datanode and its clients, then run this again");
	free(domains);
	return r;
}

/* NULL, after printing that there is no such domain. */
static struct looked *find_looked(struct init *n, const char *name)
{
	struct domain d;

	if (domain_find(n->xs, name, &d))
		return NULL;
	for (unsigned i = 0; i < n->count; i++)
		if (n->looked[i].domain.domid == d.domid)
			return &n->looked[i];
	cli_error(CLI_FAILED, "domain %s: has just appeared: run this again", name);
	return NULL;
}

/* ---- choosing ------------------------------------------------------------------------ */

/* True if init could make the domain a datanode, as far as is known without its disks. */
static bool may_be_datanode(const struct looked *l)
{
	return !l->broken && !l->datanode && !l->devices.count;
}

static int choose_datanode(struct looked *l)
{
	const char *name = l->domain.name;

	if (l->broken)
		return CLI_FAILED;
	if (!l->datanode && !l->devices.count && !config_name_valid(name))
		return cli_error(CLI_FAILED,
				 "domain %s: a datanode cannot have this name; give it another: "
				 "xl-vread attach %u role=datanode,datanodes=NAME,data-dirs=auto",
				 name, l->domain.domid);
	if (!l->datanode && !l->devices.count && !l->dirs)
		return cli_error(CLI_FAILED,
				 "domain %s: no data directory of HDFS was found on its disks; has "
				 "the datanode run there, and synced its disk?",
				 name);
	l->use = USE_DATANODE;
	return CLI_OK;
}

static int choose_client(struct looked *l)
{
	if (l->broken)
		return CLI_FAILED;
	if (l->use == USE_DATANODE || l->datanode)
		return cli_error(CLI_FAILED,
				 "domain %s: is a datanode, whose device reads its own blocks; for "
				 "those of others use xl-vread attach",
				 l->domain.name);
	l->use = USE_CLIENT;
	return CLI_OK;
}

/* Chooses the domains that an answer lists. */
static int choose_words(struct init *n, char *words, int (*choose)(struct looked *l))
{
	int r = CLI_OK;

	for (char *word; !r && (word = strsep(&words, " \t"));) {
		struct looked *l = *word ? find_looked(n, word) : NULL;

		if (*word)
			r = l ? choose(l) : CLI_FAILED;
	}
	return r;
}

/* ---- by options ----------------------------------------------------------------------- */

static int choose_by_options(struct init *n)
{
	int r = CLI_OK;

	/* All names are right before the disks are looked at, which takes minutes. */
	for (unsigned i = 0; i < n->num_datanodes; i++)
		if (!find_looked(n, n->datanodes[i]))
			return CLI_FAILED;
	for (unsigned i = 0; i < n->num_clients; i++)
		if (!find_looked(n, n->clients[i]))
			return CLI_FAILED;
	for (unsigned i = 0; i < n->num_datanodes && !r; i++) {
		struct looked *l = find_looked(n, n->datanodes[i]);

		if (!l)
			return CLI_FAILED;
		if (may_be_datanode(l) && !l->dirs)
			r = look_into_disks(n->xs, l);
		r = r ?: choose_datanode(l);
	}
	for (unsigned i = 0; i < n->num_clients && !r; i++) {
		struct looked *l = find_looked(n, n->clients[i]);

		r = l ? choose_client(l) : CLI_FAILED;
	}
	return r;
}

/* ---- by questions ---------------------------------------------------------------------- */

/* Reads an answer; free() *ret.  Fails at the end of the input. */
static int ask(const char *question, char **ret)
{
	size_t room = 0;

	*ret = NULL;
	printf("%s ", question);
	fflush(stdout);
	if (getline(ret, &room, stdin) < 0) {
		free(*ret);
		*ret = NULL;
		putchar('\n');
		return cli_error(CLI_FAILED, "no answer: nothing was written");
	}
	(*ret)[strcspn(*ret, "\n")] = '\0';
	return CLI_OK;
}

static void forget(struct init *n, enum use use)
{
	for (unsigned i = 0; i < n->count; i++)
		if (n->looked[i].use == use)
			n->looked[i].use = USE_NONE;
}

/* True if the answer was taken. */
static bool take_datanodes(struct init *n, char *answer)
{
	forget(n, USE_DATANODE);
	if (strcmp(answer, "none") == 0)
		return true;
	if (*answer)
		return choose_words(n, answer, choose_datanode) == CLI_OK;
	for (unsigned i = 0; i < n->count; i++)
		if ((n->looked[i].dirs || n->looked[i].datanode) &&
		    choose_datanode(&n->looked[i]) != CLI_OK)
			return false;
	return true;
}

static bool take_clients(struct init *n, char *answer)
{
	forget(n, USE_CLIENT);
	return choose_words(n, answer, choose_client) == CLI_OK;
}

static int ask_until(struct init *n, const char *question, bool (*take)(struct init *, char *))
{
	bool taken = false;
	int r = CLI_OK;

	while (!r && !taken) {
		char *answer;

		r = ask(question, &answer);
		taken = !r && take(n, answer);
		free(answer);
	}
	return r;
}

/* Prints what may be a datanode.  Returns how many. */
static unsigned print_found(const struct init *n)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n->count; i++) {
		const struct looked *l = &n->looked[i];

		if (!l->datanode && !l->dirs)
			continue;
		printf(found++ ? "" : "Domains that look like datanodes:\n");
		if (l->datanode)
			printf("  %s (%u): is datanode %s already\n", l->domain.name,
			       l->domain.domid, l->datanode);
		else
			printf("  %s (%u): %s on %s\n", l->domain.name, l->domain.domid, l->dirs,
			       l->disks);
	}
	return found;
}

/* Prints the domains without devices that are no datanodes.  Returns how many. */
static unsigned print_others(const struct init *n)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n->count; i++) {
		const struct looked *l = &n->looked[i];

		if (l->use == USE_DATANODE || !may_be_datanode(l))
			continue;
		printf(found++ ? "" : "Domains that can be clients:\n");
		printf("  %s (%u)\n", l->domain.name, l->domain.domid);
	}
	return found;
}

static bool has_datanode(const struct init *n)
{
	for (unsigned i = 0; i < n->count; i++)
		if (n->looked[i].use == USE_DATANODE)
			return true;
	return false;
}

/* failed: how many domains could not be looked at. */
static int nothing_found(unsigned failed)
{
	if (failed)
		return cli_error(CLI_FAILED,
				 "no datanode was found, but the disks of %u domain%s could not be "
				 "looked at: see above",
				 failed, failed == 1 ? "" : "s");
	return cli_error(CLI_FAILED,
			 "no domain has a data directory of HDFS on its disks, so there is nothing "
			 "to read: has a datanode run here, and synced its disk?");
}

static int choose_by_questions(struct init *n)
{
	unsigned failed = 0;
	int r;

	/* An error names the domain.  Others may be datanodes. */
	for (unsigned i = 0; i < n->count; i++)
		if (may_be_datanode(&n->looked[i]) && look_into_disks(n->xs, &n->looked[i]))
			failed++;
	if (!print_found(n))
		return nothing_found(failed);
	r = ask_until(n, "Which of them are datanodes? (Enter: all; or names, or none)",
		      take_datanodes);
	if (!r && has_datanode(n) && print_others(n))
		r = ask_until(n, "Which of them may read the datanodes' blocks? (Enter: none)",
			      take_clients);
	return r;
}

static int choose(struct init *n)
{
	if (n->num_datanodes)
		return choose_by_options(n);
	return choose_by_questions(n);
}

/* ---- the end -------------------------------------------------------------------------- */

int init_confirm(bool yes)
{
	char *answer;
	int r;

	if (yes)
		return CLI_OK;
	if (!isatty(STDIN_FILENO))
		return cli_error(CLI_FAILED, "nothing was written: --yes writes it");
	r = ask("Write this? (y/N)", &answer);
	if (!r && strcmp(answer, "y") != 0 && strcmp(answer, "yes") != 0)
		r = cli_error(CLI_FAILED, "nothing was written");
	free(answer);
	return r;
}

static int run_doctor(void)
{
	char name[] = "doctor", *words[] = {name, NULL};

	printf("\nxl-vread doctor:\n");
	fflush(stdout);
	optind = 0; /* getopt_long() begins anew */
	return command_doctor.run(1, words);
}

static void print_lines(const struct plan *p)
{
	if (p->count)
		printf("\nThe devices outlive reboots.  For domains that are created anew, the "
		       "line for their configuration\n(xl-vread create), or for "
		       "/etc/vread/domains.d/NAME.cfg (other toolstacks):\n");
	for (unsigned i = 0; i < p->count; i++)
		printf("  %s: vread = [ \"%s\" ]\n", p->domain[i]->domain.name, p->device[i]);
}

static void print_next(const struct plan *p)
{
	if (!p->count)
		return;
	printf("\nNext, in these guests, with vread-frontend-dkms, vread-tools and vread-hdfs "
	       "installed:\n  modprobe xen-vreadfront\n");
	for (unsigned i = 0; i < p->count; i++)
		printf("  adduser hdfs %-14s # in %s; hdfs: the user of Hadoop\n",
		       p->domain[i]->use == USE_DATANODE ? "vread-publish" : "vread",
		       p->domain[i]->domain.name);
	printf("  vread doctor --user hdfs    # says what Hadoop's configuration lacks\n");
}

static int carry_out(const struct init *n, const struct plan *p)
{
	int r = CLI_OK;

	plan_print(p);
	if (p->count)
		r = init_confirm(n->yes) ?: plan_carry_out(p);
	else
		printf("There is nothing to write.\n");
	if (r)
		return r;
	if (p->count)
		await_vreadd(p, n->config);
	print_lines(p);
	r = run_doctor();
	print_next(p);
	return r;
}

static int init(struct init *n)
{
	struct plan p = {0};
	int r = find_domains(n) ?: choose(n) ?: plan_make(n->looked, n->count, &p);

	r = r ?: carry_out(n, &p);
	plan_free(&p);
	return r;
}

/* ---- the command line ------------------------------------------------------------------ */

static int take_option(struct init *n, int option, const char *value)
{
	switch (option) {
	case OPTION_DATANODE:
		n->datanodes[n->num_datanodes++] = value;
		return CLI_OK;
	case OPTION_CLIENT:
		n->clients[n->num_clients++] = value;
		return CLI_OK;
	case 'y':
		n->yes = true;
		return CLI_OK;
	default:
		return cli_bad_option();
	}
}

static int parse(struct init *n, int argc, char **argv)
{
	static const struct option options[] = {
		{"datanode", required_argument, NULL, OPTION_DATANODE},
		{"client", required_argument, NULL, OPTION_CLIENT},
		{"yes", no_argument, NULL, 'y'},
		{NULL, 0, NULL, 0},
	};
	int c, r = CLI_OK;

	while (!r && (c = getopt_long(argc, argv, "y", options, NULL)) != -1)
		r = take_option(n, c, optarg);
	if (r)
		return r;
	if (optind < argc)
		return cli_usage("%s: unexpected argument", argv[optind]);
	if (n->num_clients && !n->num_datanodes)
		return cli_usage("--client: expected --datanode, too: the datanodes whose blocks "
				 "the clients may read");
	if (!n->num_datanodes && !isatty(STDIN_FILENO))
		return cli_usage("there is no terminal to ask on: name the domains with "
				 "--datanode and --client, and give --yes");
	return CLI_OK;
}

static bool is_of_kvm(void)
{
	struct config *c = kvm_config();
	bool here = kvm_is_host(c);

	config_free(c);
	return here;
}

/* On a host of KVM no guest can be asked for its disks, so all is named. */
static int init_guests(const struct init *n)
{
	const struct kvm_wishes w = {n->datanodes, n->clients, n->num_datanodes, n->num_clients,
				     n->yes};

	if (!n->num_datanodes)
		return cli_usage("this is a host of KVM: name the datanodes with their disks, and "
				 "the guests that read: --datanode NAME=IMAGE --client GUEST");
	return init_kvm(&w);
}

static int run_init(int argc, char **argv)
{
	struct init n = {.datanodes = calloc((size_t)argc, sizeof(*n.datanodes)),
			 .clients = calloc((size_t)argc, sizeof(*n.clients))};
	int r = n.datanodes && n.clients ? parse(&n, argc, argv)
					 : cli_error(CLI_FAILED, "out of memory");

	if (!r)
		r = is_of_kvm() ? init_guests(&n) : init(&n);
	for (unsigned i = 0; i < n.count; i++)
		looked_clear(&n.looked[i]);
	free(n.looked);
	config_free(n.config);
	xs_close(n.xs);
	free(n.datanodes);
	free(n.clients);
	return r;
}

const struct command command_init = {
	.name = "init",
	.run = run_init,
	.synopsis = "[OPTION...]",
	.summary = "Finds datanodes and clients, and configures them",
	.options =
		"  --datanode DOMAIN  a domain that is a datanode (may be given again);\n"
		"                     on a host of KVM NAME=IMAGE[,DIRECTORY...]: its disk, and\n"
		"                     its data directories (default: they are looked for)\n"
		"  --client DOMAIN    a domain that may read their blocks (may be given again)\n"
		"  -y, --yes          write without asking\n"
		"\n"
		"Without --datanode it asks on the terminal which domains are what, but not on a\n"
		"host of KVM.\n",
};
