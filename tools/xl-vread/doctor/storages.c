// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * storages.c - checks of `xl-vread doctor`: storages that two datanodes show, the record of
 * whose they are, and datanodes that look like clones of one cluster.  Called by doctor.c.
 */
#include <inttypes.h>

#include "cli/text.h"
#include "../vreadd/clones_text.h"
#include "checks.h"

static unsigned check_refused(struct doctor *d, const json_t *datanode)
{
	const json_t *refused = json_object_get(datanode, "refused-storages");
	json_t *storage;
	size_t i;

	json_array_foreach(refused, i, storage)
	{
		doctor_fail(d, text_member(datanode, "datanode"), text_member(storage, "remedy"),
			    "storage %.127s is not served: %.300s",
			    text_member(storage, "storage-id"), text_member(storage, "problem"));
	}
	return (unsigned)json_array_size(refused);
}

static unsigned check_record(struct doctor *d, const json_t *record)
{
	const char *problem = json_string_value(json_object_get(record, "problem"));
	const char *file = json_string_value(json_object_get(record, "file"));

	if (problem)
		doctor_fail(
			d, file ? file : "storage-record",
			"correct the file, install the release that wrote it, or remove it; then "
			"xl-vread reload",
			"%.400s", problem);
	else if (!file)
		doctor_warn(d, "storage-record",
			    "set storage-record in [vreadd] of vread.conf, and restart vreadd",
			    "whose a storage is is forgotten when vreadd ends");
	return problem || !file;
}

static unsigned check_announced(struct doctor *d, const json_t *peer)
{
	const json_t *conflicts = json_object_get(peer, "conflicts");
	json_t *conflict;
	size_t i;

	json_array_foreach(conflicts, i, conflict)
	{
		doctor_fail(d, text_member(peer, "name"), text_member(conflict, "remedy"),
			    "it announces storage %.127s and is not asked for it: %.300s",
			    text_member(conflict, "storage"), text_member(conflict, "problem"));
	}
	return (unsigned)json_array_size(conflicts);
}

void check_storages(struct doctor *d)
{
	const json_t *record = json_object_get(d->facts->status, "storage_record");
	unsigned problems = 0;
	json_t *entry;
	size_t i;

	if (!record) {
		doctor_skip(d, "storages", "vreadd does not answer");
		return;
	}
	problems += check_record(d, record);
	json_array_foreach(json_object_get(d->facts->status, "datanodes"), i, entry)
	{
		problems += check_refused(d, entry);
	}
	json_array_foreach(json_object_get(json_object_get(d->facts->status, "peers"), "peers"), i,
			   entry)
	{
		problems += check_announced(d, entry);
	}
	if (!problems)
		doctor_ok(d, text_member(record, "file"), "%" PRId64 " storages, each of one",
			  text_number(record, "storages"));
}

void check_clones(struct doctor *d)
{
	const json_t *clones = json_object_get(d->facts->status, "clones");
	char text[CLONES_TEXT];
	json_t *entry;
	size_t i;

	json_array_foreach(clones, i, entry)
	{
		doctor_warn(d, "clones", text_member(entry, "remedy"), "%s",
			    clones_text(entry, text));
	}
}
