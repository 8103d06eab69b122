/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm.c - implements kvm.h: reads vread.conf(5) and vreadd's status. */
#include "kvm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hypervisor.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "config_path.h"
#include "vreadd/control_client.h"

/* A xenstore that the environment names is that of a Xen host. */
static bool is_xen(void)
{
	return hypervisor_is_xen() || getenv("XENSTORED_PATH");
}

bool kvm_is_host(const struct config *c)
{
	return !is_xen() && ((c && c->num_ivshmem) || access("/dev/kvm", F_OK) == 0);
}

struct config *kvm_config(void)
{
	struct config *c = NULL;
	json_t *problems = NULL;

	if (config_load(config_path(), &c, &problems) == 0)
		return c;
	json_decref(problems);
	return NULL;
}

const struct config_ivshmem *kvm_guest(const struct config *c, const char *name)
{
	for (size_t i = 0; c && i < c->num_ivshmem; i++)
		if (!strcmp(c->ivshmem[i].name, name))
			return &c->ivshmem[i];
	return NULL;
}

const char *kvm_device_state(const json_t *status, const char *guest)
{
	json_t *device;
	size_t i;

	json_array_foreach(json_object_get(status, "devices"), i, device)
	{
		const char *name = text_member(device, "name");

		if (!strcmp(text_member(device, "port"), "kvm") && !strncmp(name, "kvm:", 4) &&
		    !strcmp(name + 4, guest))
			return text_member(device, "state");
	}
	return NULL;
}

int kvm_no_xenstore(int error)
{
	struct config *c = kvm_config();
	int r;

	if (kvm_is_host(c))
		r = cli_error(CLI_NO_PEER,
			      "there is no Xen on this host, and so no domain of xl; guests of KVM "
			      "have sections [ivshmem NAME] in %s, which xl-vread init writes and "
			      "xl-vread list shows",
			      config_path());
	else
		r = cli_error(CLI_NO_PEER,
			      "xenstore: cannot connect (%s); this works in dom0, as root",
			      strerror(error));
	config_free(c);
	return r;
}

void kvm_print_device(FILE *out, const char *socket, unsigned queues)
{
	fprintf(out,
		"  in QEMU's command line:\n"
		"    -chardev socket,id=vread,path=%s\n"
		"    -device ivshmem-doorbell,chardev=vread,vectors=%u\n"
		"  or in the domain's XML of libvirt, below <devices>:\n"
		"    <shmem name='vread'>\n"
		"      <model type='ivshmem-doorbell'/>\n"
		"      <server path='%s'/>\n"
		"      <msi vectors='%u' ioeventfd='on'/>\n"
		"    </shmem>\n",
		socket, queues + 1, socket, queues + 1);
}

int kvm_no_attach(const struct config *c, const char *name)
{
	const struct config_ivshmem *guest = kvm_guest(c, name);

	if (!guest)
		return cli_error(CLI_FAILED,
				 "%s: there is no Xen on this host, and %s has no section [ivshmem "
				 "%s]; xl-vread init --datanode NAME=IMAGE --client %s writes it, "
				 "and prints the device for the guest's QEMU",
				 name, config_path(), name, name);
	cli_error(CLI_FAILED,
		  "%s: a guest of KVM gets its device from its QEMU, and what it may read is in "
		  "[ivshmem %s] of %s; its device:",
		  name, name, config_path());
	kvm_print_device(stderr, guest->socket, guest->queues);
	fputs("  A guest that runs gets it as docs/kvm.md says, else at its next start.\n", stderr);
	return CLI_FAILED;
}

int kvm_no_detach(const char *name)
{
	return cli_error(CLI_FAILED,
			 "%s: a guest of KVM loses its device by its QEMU: virsh detach-device, or "
			 "device_del in QEMU's monitor (docs/kvm.md); to take its rights, remove "
			 "[ivshmem %s] from %s and run xl-vread reload",
			 name, name, config_path());
}

static void print_guest(const struct config_ivshmem *guest, const json_t *status)
{
	const char *state = kvm_device_state(status, guest->name);

	printf("%-24s %-8s %-13s %s\n", guest->name,
	       guest->role == POLICY_DATANODE ? "datanode" : "client",
	       status ? state ?: "no QEMU" : "unknown",
	       *guest->allow_datanodes ? guest->allow_datanodes : "(none)");
}

int kvm_list(const struct config *c)
{
	json_t *status = NULL;
	int r = CLI_OK;

	if (!c)
		return cli_error(CLI_FAILED,
				 "%s: has mistakes, or is not there: xl-vread config check",
				 config_path());
	if (c->control_socket[0])
		r = control_ask_status(c->control_socket, &status);
	printf("%-24s %-8s %-13s %s\n", "Name", "Role", "State", "Datanodes");
	for (size_t i = 0; i < c->num_ivshmem; i++)
		print_guest(&c->ivshmem[i], status);
	json_decref(status);
	return r;
}
