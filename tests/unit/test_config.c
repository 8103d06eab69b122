/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests the reader of vread.conf: the values read, and the error for each mistake. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/config.h"
#include "peer/wire/message.h"
#include "read/store.h"
#include "whole_file.h"

#define A_DISK \
	"a path that starts with /, or one of the formats raw, qcow2 or vhd, a colon and a path"

#define SECTIONS                                                                    \
	"expected [vreadd], [xen], [local], [peers], [datanode NAME], [peer NAME] " \
	"or [ivshmem NAME]"
#define NAME_EXPECTED \
	"expected a name of 1 to 63 letters, digits, '.', '_' and '-', the first no '.'\n"
#define PEERS "[peers]\nname = a\ncertificate = /c\nkey = /k\nca = /a\n"
#define AN_ADDRESS "expected IP:PORT, the IP a number, or [IP]:PORT for IPv6\n"
#define A_STORAGE "expected storages as DATANODE/STORAGE-ID, separated by blanks\n"

static char path[] = "/tmp/vread-config-XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static int load_file(const char *file, struct config **ret, char **ret_errors)
{
	json_t *problems = NULL;
	int r = config_load(file, ret, &problems);

	if (r)
		*ret_errors = config_problems_text(problems);
	json_decref(problems);
	return r;
}

static int load_bytes(const char *text, size_t length, struct config **ret, char **ret_errors)
{
	whole_file_write(path, text, length);
	return load_file(path, ret, ret_errors);
}

static struct config *load_good(const char *text)
{
	struct config *c = NULL;
	char *errors = NULL;

	if (load_bytes(text, strlen(text), &c, &errors))
		fail_msg("%s", errors);
	return c;
}

static void test_defaults(void **state)
{
	struct config *c = load_good("# nothing\n");

	(void)state;
	assert_int_equal(c->log_level, LOG_LEVEL_INFO);
	assert_string_equal(c->control_socket, "/run/vread/control.sock");
	assert_string_equal(c->ivshmem_socket, "/run/vread-ivshmem/control.sock");
	assert_string_equal(c->datanode_files, "/var/lib/vread/datanodes");
	assert_string_equal(c->token_files, "/var/lib/vread/tokens");
	assert_string_equal(c->user, "");
	assert_int_equal(c->xen.enabled, CONFIG_AUTO);
	assert_int_equal(c->read_ahead, 8U << 20);
	assert_int_equal(c->handle_memory, 64U << 20);
	assert_true(c->cache == CACHE_AUTO);
	assert_int_equal(c->xen.max_queues, 8);
	assert_int_equal(c->xen.max_ring_page_order, 4);
	assert_int_equal(c->xen.max_pool_pages, 32768);
	assert_string_equal(c->local.socket, "");
	assert_string_equal(c->local.allow_datanodes, "");
	assert_string_equal(c->local.allow_pools, "*");
	assert_string_equal(c->local.publish_datanodes, "");
	assert_string_equal(c->local.unnamed_datanodes, "");
	assert_int_equal(c->local.mode, 0600);
	assert_int_equal(c->local.max_connections, 64);
	assert_int_equal(c->num_datanodes, 0);
	config_free(c);
}

static void test_peers(void **state)
{
	struct config *c = load_good(PEERS "listen = [::1]:7867\nidle-timeout = 5\n"
					   "answer-timeout = 700\ntransports = rdma tcp\n"
					   "crl = /r\nworkers = 64\nbuffers = 8\nstreams = 4\n"
					   "[peer b]\naddress = 192.0.2.1:7867\n"
					   "storages = dn2/DS-1 dn2/DS-2\nstorages = dn3/DS-3\n"
					   "datanodes = dn2*\tweb?\nallow-datanodes = dn1\n"
					   "allow-pools = BP-1\nprotection = integrity\n"
					   "[peer c]\n[peer d]\nprotection = privacy\n"
					   "[peer e]\nprotection = authentication\n");
	const struct peer_config *b = &c->peers.peers[0];

	(void)state;
	assert_string_equal(c->peers.listen, "[::1]:7867");
	assert_string_equal(c->peers.name, "a");
	assert_string_equal(c->peers.certificate, "/c");
	assert_string_equal(c->peers.crl, "/r");
	assert_int_equal(c->peers.workers, 64);
	assert_int_equal(c->peers.buffers, 8);
	assert_int_equal(c->peers.streams, 4);
	assert_int_equal(c->peers.idle_timeout, 5);
	assert_int_equal(c->peers.answer_timeout, 700);
	assert_int_equal(c->peers.transports, MESSAGE_TRANSPORT_RDMA | MESSAGE_TRANSPORT_TLS);
	assert_int_equal(c->peers.num_peers, 4);
	assert_int_equal(b->frames, MESSAGE_TRANSPORT_MAC);
	assert_int_equal(c->peers.peers[1].frames, 0); /* by default TLS encrypts */
	assert_int_equal(c->peers.peers[2].frames, 0);
	assert_int_equal(c->peers.peers[3].frames, MESSAGE_TRANSPORT_FRAMES);
	assert_string_equal(b->name, "b");
	assert_string_equal(b->address, "192.0.2.1:7867");
	assert_string_equal(b->storages, " dn2/DS-1 dn2/DS-2 dn3/DS-3");
	assert_string_equal(b->datanodes, "dn2* web?");
	assert_string_equal(b->allow_datanodes, "dn1");
	assert_string_equal(b->allow_pools, "BP-1");
	assert_string_equal(c->peers.peers[1].allow_datanodes, ""); /* by default nothing */
	assert_string_equal(c->peers.peers[1].address, "");
	config_free(c);
}

static void test_guests_of_kvm(void **state)
{
	struct config *c = load_good("[ivshmem g1]\nsocket = /run/g1\n"
				     "[ivshmem g2]\nsocket = /run/g2\nmode = 0600\nmemory = 1M\n"
				     "queues = 8\nrole = datanode\nallow-datanodes = a b\n"
				     "allow-pools = p\npublish-datanodes = a\n"
				     "unnamed-datanodes = a c\n");
	const struct config_ivshmem *plain = &c->ivshmem[0], *full = &c->ivshmem[1];

	(void)state;
	assert_int_equal(c->num_ivshmem, 2);
	assert_string_equal(plain->name, "g1");
	assert_string_equal(plain->socket, "/run/g1");
	assert_int_equal(plain->mode, 0660);
	assert_int_equal(plain->memory, 32 << 20);
	assert_int_equal(plain->queues, 4);
	assert_int_equal(plain->role, POLICY_CLIENT);
	assert_string_equal(plain->allow_datanodes, "");
	assert_string_equal(plain->allow_pools, "*");
	assert_string_equal(plain->publish_datanodes, "");
	assert_string_equal(plain->unnamed_datanodes, "");
	assert_int_equal(full->mode, 0600);
	assert_int_equal(full->memory, 1 << 20);
	assert_int_equal(full->queues, 8);
	assert_int_equal(full->role, POLICY_DATANODE);
	assert_string_equal(full->allow_datanodes, "a b");
	assert_string_equal(full->allow_pools, "p");
	assert_string_equal(full->publish_datanodes, "a");
	assert_string_equal(full->unnamed_datanodes, "a c");
	config_free(c);
}

static void test_everything_set(void **state)
{
	struct config *c = load_good("# comment\n"
				     "; comment\n"
				     "\n"
				     "[vreadd]\r\n"
				     "log-level = debug\r\n"
				     "control-socket = /a/c.sock\n"
				     "read-ahead = 512K\n"
				     "cache = 3G\n"
				     "[xen]\n"
				     "  enabled = no\n"
				     "max-queues=2\n"
				     "max-ring-page-order : 0\n"
				     "max-pool-pages = 16\n"
				     "[datanode dn-1]\n"
				     "image = /img/a b.raw ; inline comment\n"
				     "layout = /img/a.json\n"
				     "image-mode = direct\n"
				     "tokens = required\n"
				     "[local]\n"
				     "socket = /a/l.sock\n"
				     "allow-datanodes = dn-1 dn.2\n"
				     "allow-pools = BP-1\n"
				     "publish-datanodes = dn.2\n"
				     "unnamed-datanodes = *\n"
				     "mode = 0660\n"
				     "max-connections = 4096\n"
				     "max-pool-pages = 100\n"
				     "max-total-pool-pages = 200\n"
				     "[datanode dn.2]\n"
				     "image = /img/b.raw\n"
				     "backing-folders = /srv/bases  /srv/more\n"
				     "backing-folders = /opt/...  /my bases/1\n"
				     "data-dirs = /data/1/dfs  /data2/ /\n"
				     "storages = DS-1\t DS-2\n"
				     "storages = DS-3");

	(void)state;
	assert_int_equal(c->log_level, LOG_LEVEL_DEBUG);
	assert_string_equal(c->control_socket, "/a/c.sock");
	assert_int_equal(c->read_ahead, 512U << 10);
	assert_int_equal(c->cache, 3ULL << 30);
	assert_int_equal(c->xen.enabled, CONFIG_NO);
	assert_int_equal(c->xen.max_queues, 2);
	assert_int_equal(c->xen.max_ring_page_order, 0);
	assert_int_equal(c->xen.max_pool_pages, 16);
	assert_string_equal(c->local.socket, "/a/l.sock");
	assert_string_equal(c->local.allow_datanodes, "dn-1 dn.2");
	assert_string_equal(c->local.allow_pools, "BP-1");
	assert_string_equal(c->local.publish_datanodes, "dn.2");
	assert_string_equal(c->local.unnamed_datanodes, "*");
	assert_int_equal(c->local.mode, 0660);
	assert_int_equal(c->local.max_connections, 4096);
	assert_int_equal(c->local.max_pool_pages, 100);
	assert_int_equal(c->local.max_total_pool_pages, 200);
	assert_int_equal(c->num_datanodes, 2);
	assert_string_equal(c->datanodes[0].name, "dn-1");
	assert_int_equal(c->datanodes[0].images.count, 1);
	assert_string_equal(c->datanodes[0].images.path[0], "/img/a b.raw");
	assert_string_equal(c->datanodes[0].layout, "/img/a.json");
	assert_int_equal(c->datanodes[0].data_dirs.count, 0);
	assert_int_equal(c->datanodes[0].backing_folders.count, 0);
	assert_int_equal(c->datanodes[1].backing_folders.count, 4);
	assert_string_equal(c->datanodes[1].backing_folders.path[0], "/srv/bases");
	assert_string_equal(c->datanodes[1].backing_folders.path[1], "/srv/more");
	assert_string_equal(c->datanodes[1].backing_folders.path[2], "/opt/...");
	assert_string_equal(c->datanodes[1].backing_folders.path[3], "/my bases/1");
	assert_int_equal(c->datanodes[0].image_mode, SOURCE_DIRECT);
	assert_int_equal(c->datanodes[1].image_mode, SOURCE_AUTO);
	assert_int_equal(c->datanodes[0].tokens, TOKENS_REQUIRED);
	assert_int_equal(c->datanodes[1].tokens, TOKENS_AUTO);
	assert_null(c->datanodes[1].layout);
	assert_null(c->datanodes[0].storages);
	assert_string_equal(c->datanodes[1].storages, " DS-1 DS-2 DS-3");
	assert_int_equal(c->datanodes[1].data_dirs.count, 3);
	assert_string_equal(c->datanodes[1].data_dirs.path[0], "/data/1/dfs");
	assert_string_equal(c->datanodes[1].data_dirs.path[1], "/data2");
	assert_string_equal(c->datanodes[1].data_dirs.path[2], "/");
	config_free(c);
}

#define AN_IMAGE "expected a line image = /path/to/disk.img\n"
#define DATA_DIRS                                                                                \
	"expected a line data-dirs = /dfs/data (directories inside the image) or layout = FILE " \
	"(of vread-provision)\n"
#define FOLDERS                                                                              \
	"expected paths of this host that start with /, go through no \"..\" and are not / " \
	"itself\n"
/* Lists of data directories as people write them, and the paths, separated by '|'. */
static const struct {
	const char *written, *paths;
} data_dirs[] = {
	{"/a /b", "/a|/b"},
	{"/a,/b", "/a|/b"},
	{" /a , /b,,/c/ ", "/a|/b|/c"},
	{"[SSD]file:///data/1,[DISK]/data/2", "/data/1|/data/2"},
	{"[SSD] file:///data/1, [disk]file:/data/2", "/data/1|/data/2"},
	{"file:///data/1 file:///data/2", "/data/1|/data/2"},
	{"FILE://localhost/data/1/", "/data/1"},
	{"/my data", "/my data"},
	{"/my data/1 /my data/2", "/my data/1|/my data/2"},
	{"/my  data , /b", "/my  data|/b"},
	{"file:///my%20data%2C1", "/my data,1"},
	{"/100%", "/100%"},
	{"[RAM_DISK]/mnt/ram,[DISK]/data,[PROVIDED]file:///remote", "/data"},
	{"/", "/"},
};

static void test_lists_of_data_dirs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(data_dirs) / sizeof(data_dirs[0]); i++) {
		char text[256], found[256] = "";
		struct config *c;

		snprintf(text, sizeof(text), "[datanode dn]\nimage = /x\ndata-dirs = %s\n",
			 data_dirs[i].written);
		c = load_good(text);
		for (unsigned k = 0; k < c->datanodes[0].data_dirs.count; k++) {
			strcat(found, k ? "|" : "");
			strcat(found, c->datanodes[0].data_dirs.path[k]);
		}
		assert_string_equal(found, data_dirs[i].paths);
		config_free(c);
	}
}

#define INSIDE                                                                                   \
	"expected paths inside the image that start with / and contain no \"..\", or the value " \
	"of "                                                                                    \
	"dfs.datanode.data.dir\n"

#define BYTES_10 "/123456789"
#define BYTES_50 BYTES_10 BYTES_10 BYTES_10 BYTES_10 BYTES_10
#define BYTES_107 BYTES_50 BYTES_50 "/123456"

#define SIZE "bytes, or a number and K, M or G, from 0M to "
#define SIZE_UP_TO "expected " SIZE
#define AUTO_OR_SIZE_UP_TO "expected auto, or " SIZE

static const struct {
	const char *text;
	const char *expected; /* follows the file's name */
} mistakes[] = {
	{"[vreadd]\nlog-level = loud\n",
	 ":2: [vreadd] log-level: loud: expected error, warn, info or debug\n"},
	{"[vreadd]\naudit = maybe\n", ":2: [vreadd] audit: maybe: expected yes or no\n"},
	{"[vreadd]\nlog-levle = info\n",
	 ":2: [vreadd] log-levle: info: unknown key: expected one of log-level, "
	 "audit, user, control-socket, ivshmem-socket, datanode-files, token-files, "
	 "storage-record, read-ahead, "
	 "cache, "
	 "handle-memory; did you "
	 "mean "
	 "log-level?\n"},
	{"[vreadd]\nuser = a b\n",
	 ":2: [vreadd] user: a b: expected the name of a user, or nothing\n"},
	{"[vreadd]\nread-ahead = 64M\ncache = 65M\nread-ahead = 0\n",
	 ":4: [vreadd] read-ahead: 0: expected once; the key is set above already\n"},
	{"[vreadd]\nread-ahead = 65M\n", ":2: [vreadd] read-ahead: 65M: " SIZE_UP_TO "64M\n"},
	{"[vreadd]\ncache = 1025G\n",
	 ":2: [vreadd] cache: 1025G: " AUTO_OR_SIZE_UP_TO "1048576M\n"},
	{"[vreadd]\ncache = 99999999999999999999\n",
	 ":2: [vreadd] cache: 99999999999999999999: " AUTO_OR_SIZE_UP_TO "1048576M\n"},
	{"[vreadd]\ncache = -1\n", ":2: [vreadd] cache: -1: " AUTO_OR_SIZE_UP_TO "1048576M\n"},
	{"[vreadd]\ncache = automatic\n",
	 ":2: [vreadd] cache: automatic: " AUTO_OR_SIZE_UP_TO "1048576M\n"},
	{"[vreadd]\ncache = M\n", ":2: [vreadd] cache: M: " AUTO_OR_SIZE_UP_TO "1048576M\n"},
	{"[vreadd]\ncache = 1 M\n", ":2: [vreadd] cache: 1 M: " AUTO_OR_SIZE_UP_TO "1048576M\n"},
	{"[vreadd]\nimage = /x\n",
	 ":2: [vreadd] image: /x: unknown key: expected one of "
	 "log-level, audit, user, control-socket, ivshmem-socket, datanode-files, token-files, "
	 "storage-record, read-ahead, cache, handle-memory\n"},
	{"[vreadd]\ncontrol-socket = run/c.sock\n",
	 ":2: [vreadd] control-socket: run/c.sock: expected a path that starts with / of at most "
	 "107 bytes, or nothing\n"},
	{"[vreadd]\ncontrol-socket = /" BYTES_107 "\n",
	 ":2: [vreadd] control-socket: /" BYTES_107 ": expected a path that starts with / of at "
	 "most 107 bytes, or nothing\n"},
	{"\n[xenn]\n", ":2: [xenn]: unknown section: " SECTIONS "; did you mean [xen]?\n"},
	{"[something]\nkey = 1\n", ":1: [something]: unknown section: " SECTIONS "\n"},
	{"[datanode]\nimage = /x\n",
	 ":1: [datanode]: unknown section: " SECTIONS "; did you mean [datanode NAME]?\n"},
	{"key = 1\n", ":1: key: 1: expected a section like [vreadd] first\n"},
	{"[xen\n", ":1: [xen: expected ']' after the section's name\n"},
	{"[xen]\nenabled\n",
	 ":2: enabled: expected \"key = value\", \"[section]\" or \"# comment\"\n"},
	{"[xen]\nenabled = true\n", ":2: [xen] enabled: true: expected yes, no or auto\n"},
	{"[xen]\nmax-queues = 0\n", ":2: [xen] max-queues: 0: expected a number from 1 to 8\n"},
	{"[xen]\nmax-queues = 9\n", ":2: [xen] max-queues: 9: expected a number from 1 to 8\n"},
	{"[xen]\nmax-queues = two\n", ":2: [xen] max-queues: two: expected a number from 1 to 8\n"},
	{"[xen]\nmax-queues =\n", ":2: [xen] max-queues: : expected a number from 1 to 8\n"},
	{"[xen]\nmax-queues = 4294967297\n",
	 ":2: [xen] max-queues: 4294967297: expected a number from 1 to 8\n"},
	{"[xen]\nmax-ring-page-order = 5\n",
	 ":2: [xen] max-ring-page-order: 5: expected a number from 0 to 4\n"},
	{"[xen]\nmax-pool-pages = 15\n",
	 ":2: [xen] max-pool-pages: 15: expected a number from 16 to 32768\n"},
	{"[xen]\nmax-queues = 1\nmax-queues = 1\n",
	 ":3: [xen] max-queues: 1: expected once; the key is set above already\n"},
	{"[xen]\nmax-queues = 1\n[local]\n[xen]\nmax-queues = 1\n",
	 ":5: [xen] max-queues: 1: expected once; the key is set above already\n"},
	{"[ivshmem g1]\n",
	 ":1: [ivshmem g1]: no socket: expected a line socket = /path/to/socket, to which the "
	 "guest's QEMU connects\n"},
	{"[ivshmem g1]\nsocket =\n", ":2: [ivshmem g1] socket: : expected a path that starts with "
				     "/ of at most 107 bytes\n"},
	{"[ivshmem g1]\nsocket = /a\n[ivshmem g1]\nsocket = /b\n",
	 ":3: [ivshmem g1]: expected each name once; line 1 has the same name\n"},
	{"[ivshmem g1]\nsocket = /a\n[ivshmem g2]\nsocket = /a\n",
	 ":3: [ivshmem g2] socket: /a: expected a socket of its own; [ivshmem g1] has the same\n"},
	{"[ivshmem g1]\nsocket = /a\nmemory = 3M\n",
	 ":3: [ivshmem g1] memory: 3M: expected a power of two: bytes, or a number and K, M or G, "
	 "from 1M to 256M\n"},
	{"[ivshmem g1]\nsocket = /a\nmemory = 512M\n",
	 ":3: [ivshmem g1] memory: 512M: expected a power of two: bytes, or a number and K, M or "
	 "G, from 1M to 256M\n"},
	{"[ivshmem g1]\nsocket = /a\nqueues = 9\n",
	 ":3: [ivshmem g1] queues: 9: expected a number from 1 to 8\n"},
	{"[ivshmem g1]\nsocket = /a\nrole = master\n",
	 ":3: [ivshmem g1] role: master: expected client or datanode\n"},
	{"[ivshmem]\nsocket = /a\n",
	 ":1: [ivshmem]: unknown section: " SECTIONS "; did you mean [ivshmem NAME]?\n"},
	{"[local]\nmode = 600\n",
	 ":2: [local] mode: 600: expected four octal digits, the first 0, for example 0600\n"},
	{"[local]\nmode = 0888\n",
	 ":2: [local] mode: 0888: expected four octal digits, the first 0, for example 0600\n"},
	{"[local]\nallow-datanodes = a  b\n",
	 ":2: [local] allow-datanodes: a  b: expected names separated by exactly one space\n"},
	{"[local]\npublish-uids = hdfs\n", ":2: [local] publish-uids: hdfs: expected numbers of "
					   "users (id -u NAME), separated by exactly "
					   "one space\n"},
	{"[local]\npublish-uids = 0  7\n", ":2: [local] publish-uids: 0  7: expected numbers of "
					   "users (id -u NAME), separated by exactly "
					   "one space\n"},
	{"[local]\npublish-uids = 4294967295\n", ":2: [local] publish-uids: 4294967295: expected "
						 "numbers of users (id -u NAME), separated by "
						 "exactly one space\n"},
	{"[local]\nmax-connections = 0\n",
	 ":2: [local] max-connections: 0: expected a number from 1 to 4096\n"},
	{"[datanode dn1]\n",
	 ":1: [datanode dn1]: no image: " AN_IMAGE "@:1: [datanode dn1]: no data-dirs: " DATA_DIRS},
	{"[datanode dn1]\nlayout = /l\n[xen]\n", ":1: [datanode dn1]: no image: " AN_IMAGE},
	{"[datanode dn1]\nlayout = /l\nimage = disk.img\n",
	 ":3: [datanode dn1] image: disk.img: expected " A_DISK "\n"},
	{"[datanode dn1]\nlayout = /l\nimage = /a\nimage = raw:/b\nimage = /a\n",
	 ":5: [datanode dn1] image: /a: expected each image once\n"},
	{"[datanode dn1]\nlayout = /l\nimage = /a\nimage-mode = cached\n",
	 ":4: [datanode dn1] image-mode: cached: expected auto, buffered or direct\n"},
	{"[datanode dn1]\nlayout = /l\nimage = /a\nbacking-folders =\n",
	 ":4: [datanode dn1] backing-folders: : expected at least one folder of this host, for "
	 "example /srv/bases\n"},
	{"[datanode dn1]\nlayout = /l\nimage = /a\nbacking-folders = srv\n",
	 ":4: [datanode dn1] backing-folders: srv: " FOLDERS},
	{"[datanode dn1]\nlayout = /l\nimage = /a\nbacking-folders = /srv /\n",
	 ":4: [datanode dn1] backing-folders: /srv /: " FOLDERS},
	{"[datanode dn1]\nlayout = /l\nimage = /a\nbacking-folders = //.\n",
	 ":4: [datanode dn1] backing-folders: //.: " FOLDERS},
	{"[datanode dn1]\nlayout = /l\nimage = /a\nbacking-folders = /srv/../etc\n",
	 ":4: [datanode dn1] backing-folders: /srv/../etc: " FOLDERS},
	{"[datanode dn1]\nlayout = /l\nimage = /a\nbacking-folders = /srv/..\n",
	 ":4: [datanode dn1] backing-folders: /srv/..: " FOLDERS},
	{"[datanode dn1]\nlayout = /l\nimage = /a\nbacking-folders = nbd:/srv\n",
	 ":4: [datanode dn1] backing-folders: nbd:/srv: " FOLDERS},
	{"[datanode dn1]\nlayout = /l\nimage = /a\nbacking-folders = /s\nbacking-folders = /s\n",
	 ":5: [datanode dn1] backing-folders: /s: expected each folder once\n"},
	{"[datanode dn1]\nlayout = /l\nimage = /a\ntokens = on\n",
	 ":4: [datanode dn1] tokens: on: expected auto, required or off\n"},
	{"[datanode dn1]\nlayout = /l\nimage = zip:/a\n",
	 ":3: [datanode dn1] image: zip:/a: expected " A_DISK "\n"},
	{"[xen]\n[datanode dn1]\nimage = /x\n[local]\n",
	 ":2: [datanode dn1]: no data-dirs: " DATA_DIRS},
	{"[datanode dn1]\nimage = /x\nlayout = /l\ndata-dirs = /a\n",
	 ":1: [datanode dn1]: both data-dirs and layout: expected one of them; a layout names the "
	 "directories itself\n"},
	{"[datanode dn1]\nimage = /x\ndata-dirs =\n",
	 ":3: [datanode dn1] data-dirs: : expected at least one path inside the image, for example "
	 "/dfs/data\n"},
	{"[datanode dn1]\nimage = /x\ndata-dirs = a dfs\n",
	 ":3: [datanode dn1] data-dirs: a dfs: " INSIDE},
	{"[datanode dn1]\nimage = /x\ndata-dirs = /a,hdfs://nn/b\n",
	 ":3: [datanode dn1] data-dirs: /a,hdfs://nn/b: " INSIDE},
	{"[datanode dn1]\nimage = /x\ndata-dirs = file://host/a\n",
	 ":3: [datanode dn1] data-dirs: file://host/a: " INSIDE},
	{"[datanode dn1]\nimage = /x\ndata-dirs = file:///a%2\n",
	 ":3: [datanode dn1] data-dirs: file:///a%2: " INSIDE},
	{"[datanode dn1]\nimage = /x\ndata-dirs = file:///a%00b\n",
	 ":3: [datanode dn1] data-dirs: file:///a%00b: " INSIDE},
	{"[datanode dn1]\nimage = /x\ndata-dirs = file:///a/%2e%2e/b\n",
	 ":3: [datanode dn1] data-dirs: file:///a/%2e%2e/b: " INSIDE},
	{"[datanode dn1]\nimage = /x\ndata-dirs = [SSD/a\n",
	 ":3: [datanode dn1] data-dirs: [SSD/a: " INSIDE},
	{"[datanode dn1]\nimage = /x\ndata-dirs = [RAM_DISK]/ram\n",
	 ":3: [datanode dn1] data-dirs: [RAM_DISK]/ram: expected at least one path inside the "
	 "image, "
	 "for example /dfs/data\n"},
	{"[datanode dn1]\nimage = /x\ndata-dirs = /a/../b\n",
	 ":3: [datanode dn1] data-dirs: /a/../b: " INSIDE},
	{"[datanode dn1]\nimage = /x\ndata-dirs = /a/..\n",
	 ":3: [datanode dn1] data-dirs: /a/..: " INSIDE},
	{"[datanode dn1]\nimage = /x\ndata-dirs = /a /b /a/\n",
	 ":3: [datanode dn1] data-dirs: /a /b /a/: expected each path once\n"},
	{"[datanode dn1]\nimage = /x\ndata-dirs = /a\ndata-dirs = /b\n",
	 ":4: [datanode dn1] data-dirs: /b: expected once; the key is set above already\n"},
	{"[datanode a/b]\nimage = /x\n", ":1: [datanode a/b]: " NAME_EXPECTED},
	{"[datanode ..]\nimage = /x\n", ":1: [datanode ..]: " NAME_EXPECTED},
	{"[datanode a]\nimage = /x\nlayout = /l\n[datanode a]\nimage = /y\n",
	 ":4: [datanode a]: expected each name once; line 1 has the same name\n"},
	{"[datanode a]\nimagee = /x\nimage = /y\nlayout = /l\n",
	 ":2: [datanode a] imagee: /x: unknown key: expected one of image, "
	 "backing-folders, image-mode, data-dirs, tokens, storages, layout; did you mean image?\n"},
	{"[datanode a]\nimage = /x\nlayout = /l\nstorages = DS-1 DS\x7f\n",
	 ":4: [datanode a] storages: DS-1 DS\x7f: expected ids of storages (DS-...), separated by "
	 "blanks\n"},
	{"[datanode a]\nimage = /x\nlayout = /l\nstorages =\n",
	 ":4: [datanode a] storages: : expected ids of storages (DS-...), separated by blanks\n"},
	{"[datanode a]\nimage = /x\nlayout = /l\nstorages = DS-1\nstorages = DS-2 DS-1\n",
	 ":5: [datanode a] storages: DS-2 DS-1: expected each storage once\n"},
	{"[datanode a]\nimage = /x\nlayout = /l\nstorages = DS-1 DS-2\n"
	 "[datanode b]\nimage = /x\nlayout = /l\nstorages = DS-2\n",
	 ":5: [datanode b] storages: DS-2: expected each storage in one section, it is in "
	 "[datanode a] too\n"},
	{"[vreadd]\nread-ahead = 0\n[datanode a]\nimage = /x\nlayout = /l\n[vreadd]\n"
	 "read-ahead = 0\n",
	 ":7: [vreadd] read-ahead: 0: expected once; the key is set above already\n"},
	{"[vreadd]\nstorage-record = here\n",
	 ":2: [vreadd] storage-record: here: expected a file's path that starts with /, or "
	 "nothing\n"},
	{"[vreadd]\nstorage-record = /here/\n",
	 ":2: [vreadd] storage-record: /here/: expected a file's path that starts with /, or "
	 "nothing\n"},
	{"[peers]\nname = a\ncertificate = /c\n",
	 ":1: [peers]: no key: expected a line key = /path/to/file.pem\n"
	 "@:1: [peers]: no ca: expected a line ca = /path/to/file.pem\n"},
	{PEERS "crl = revoked.pem\n",
	 ":6: [peers] crl: revoked.pem: expected a path that starts with /\n"},
	{"[peer b]\naddress = 192.0.2.1:1\n",
	 ":1: [peer b]: no section [peers]: expected one with this host's name, certificate, key "
	 "and ca\n"},
	{PEERS "[peer b]\naddress = b.example:7\n",
	 ":7: [peer b] address: b.example:7: " AN_ADDRESS},
	{PEERS "[peer b]\naddress = 192.0.2.1:0\n",
	 ":7: [peer b] address: 192.0.2.1:0: " AN_ADDRESS},
	{PEERS "[peer b]\naddress = ::1:7\n", ":7: [peer b] address: ::1:7: " AN_ADDRESS},
	{PEERS "[peer b]\nstorages = dn1/DS-1\n",
	 ":6: [peer b]: no address: expected a line address = IP:PORT, where this host asks the "
	 "peer\n"},
	{PEERS "[peer b]\naddress = 192.0.2.1:7\nstorages = DS-1\n",
	 ":8: [peer b] storages: DS-1: " A_STORAGE},
	{PEERS "[peer b]\naddress = 192.0.2.1:7\nstorages = a/b/c\n",
	 ":8: [peer b] storages: a/b/c: " A_STORAGE},
	{PEERS "[peer b]\n[peer B]\n",
	 ":7: [peer B]: expected each name once; line 6 has the same name\n"},
	{PEERS "[peer b c]\n", ":6: [peer b c]: " NAME_EXPECTED},
	{PEERS "answer-timeout = 99\n",
	 ":6: [peers] answer-timeout: 99: expected a number from 100 to 60000\n"},
	{PEERS "workers = 0\n", ":6: [peers] workers: 0: expected a number from 1 to 64\n"},
	{PEERS "streams = 5\n", ":6: [peers] streams: 5: expected a number from 1 to 4\n"},
	{PEERS "buffers = 7\n", ":6: [peers] buffers: 7: expected a number from 8 to 1024\n"},
	{PEERS "[peer b]\nprotection = none\n",
	 ":7: [peer b] protection: none: expected privacy, integrity or authentication\n"},
	{PEERS "transports = tcp rdma\n",
	 ":6: [peers] transports: tcp rdma: expected tcp, rdma or rdma tcp\n"},
	{"[xen]\nenabled = maybe\nmax-queues = 77\n",
	 ":2: [xen] enabled: maybe: expected yes, no or auto\n"
	 "@:3: [xen] max-queues: 77: expected a number from 1 to 8\n"},
};

/* expected: "@" at the start of a further line stands for the file's name. */
static void check_errors(const char *errors, const char *expected)
{
	char *want = NULL;
	size_t size;
	FILE *f = open_memstream(&want, &size);

	fputs(path, f);
	for (const char *p = expected; *p; p++)
		if (*p == '@')
			fputs(path, f);
		else
			fputc(*p, f);
	fclose(f);
	assert_string_equal(errors, want);
	free(want);
}

static void test_mistakes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		struct config *c = NULL;
		char *errors = NULL;

		assert_int_equal(load_bytes(mistakes[i].text, strlen(mistakes[i].text), &c,
					    &errors),
				 -EINVAL);
		assert_null(c);
		check_errors(errors, mistakes[i].expected);
		free(errors);
	}
}

/* libinih would split the line and read its rest as another line. */
static void test_lines_too_long(void **state)
{
	char text[600], *errors = NULL;
	struct config *c = NULL;
	int n;

	(void)state;
	n = snprintf(text, sizeof(text), "[local]\nallow-datanodes = %0500d\nmode = 0600\n", 1);
	assert_int_equal(load_bytes(text, (size_t)n, &c, &errors), -EINVAL);
	check_errors(errors, ":2: the line has 518 bytes: expected at most 197\n");
	free(errors);

	n = snprintf(text, sizeof(text), "[local]\nallow-datanodes = %0179d\n", 1);
	c = load_good(text);
	assert_int_equal(strlen(c->local.allow_datanodes), 179);
	config_free(c);
}

static void test_too_many_lines(void **state)
{
	static char text[100001];
	struct config *c = NULL;
	char *errors = NULL;

	(void)state;
	memset(text, '\n', sizeof(text));
	assert_int_equal(load_bytes(text, sizeof(text) - 1, &c, &errors), 0);
	config_free(c);
	c = NULL;
	assert_int_equal(load_bytes(text, sizeof(text), &c, &errors), -EINVAL);
	assert_null(c);
	check_errors(errors, ":100000: the file has more lines: expected at most 100000\n");
	free(errors);
}

static void test_bytes_that_are_no_text(void **state)
{
	static const char text[] = "[xen]\nenabled = no\0x\n";
	struct config *c = NULL;
	char *errors = NULL;

	(void)state;
	assert_int_equal(load_bytes(text, sizeof(text) - 1, &c, &errors), -EINVAL);
	check_errors(errors, ":2: the line holds a NUL byte: expected text\n");
	free(errors);
}

/* ---- datanodes' own files ---- */

static char folder[] = "/tmp/vread-datanodes-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static void file_in_folder(const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s", folder, name);
}

static void put_file(const char *name, const char *text)
{
	char file[PATH_MAX];

	file_in_folder(name, file);
	whole_file_write(file, text, strlen(text));
}

static void drop_file(const char *name)
{
	char file[PATH_MAX];

	file_in_folder(name, file);
	unlink(file);
}

static int remove_folder(void **state)
{
	(void)state;
	drop_file("dn1.conf");
	drop_file("dn2.conf");
	return rmdir(folder);
}

/* behind: further lines of the configuration. */
static int load_with_folder(const char *behind, struct config **ret, char **ret_errors)
{
	char text[600];
	int n = snprintf(text, sizeof(text), "[vreadd]\ndatanode-files = %s\n%s", folder, behind);

	return load_bytes(text, (size_t)n, ret, ret_errors);
}

#define DN1 "image = /x\ndata-dirs = /dfs\n"

static void test_files_of_datanodes(void **state)
{
	struct config *c = NULL;
	char *errors = NULL, file[PATH_MAX];

	(void)state;
	put_file("dn2.conf", "# kept by somebody\n[datanode dn2]\nimage = qcow2:/y\n"
			     "data-dirs = /a /b\n");
	put_file("dn2.conf.new", "half of a fi");
	put_file(".hidden.conf", "neither");
	if (load_with_folder("[datanode dn1]\n" DN1, &c, &errors))
		fail_msg("%s", errors);
	drop_file("dn2.conf.new");
	drop_file(".hidden.conf");
	assert_int_equal(c->num_datanodes, 2);
	assert_string_equal(c->datanodes[0].file, path);
	assert_string_equal(c->datanodes[1].name, "dn2");
	assert_string_equal(c->datanodes[1].images.path[0], "qcow2:/y");
	assert_int_equal(c->datanodes[1].data_dirs.count, 2);
	file_in_folder("dn2.conf", file);
	assert_string_equal(c->datanodes[1].file, file);
	assert_int_equal(c->datanodes[1].line, 2);
	config_free(c);
}

/* The content of dn1.conf, and the error that follows its name. */
static const struct {
	const char *text, *expected;
} wrong_files[] = {
	{"", ": expected a section [datanode dn1]\n"},
	{"[datanode dn2]\n" DN1, ":1: [datanode dn2]: expected only the section [datanode dn1], "
				 "because of the file's name\n"},
	{"[datanode dn1]\n" DN1 "[local]\nallow-datanodes = *\n",
	 ":4: [local]: expected only the section [datanode dn1], because of the file's name\n"},
	{"[datanode dn1]\n" DN1 "[datanode dn1]\n",
	 ":4: [datanode dn1]: expected each name once; line 1 has the same name\n"},
	{"[datanode dn1]\nimage = x\ndata-dirs = /d\n",
	 ":2: [datanode dn1] image: x: expected " A_DISK "\n"},
};

static void test_mistakes_in_files_of_datanodes(void **state)
{
	char file[PATH_MAX], expected[PATH_MAX + 400];

	(void)state;
	file_in_folder("dn1.conf", file);
	for (size_t i = 0; i < sizeof(wrong_files) / sizeof(wrong_files[0]); i++) {
		struct config *c = NULL;
		char *errors = NULL;

		put_file("dn1.conf", wrong_files[i].text);
		assert_int_equal(load_with_folder("", &c, &errors), -EINVAL);
		snprintf(expected, sizeof(expected), "%s%s", file, wrong_files[i].expected);
		assert_string_equal(errors, expected);
		free(errors);
	}
}

static void test_a_datanode_in_both(void **state)
{
	char file[PATH_MAX], expected[PATH_MAX + 400], *errors = NULL;
	struct config *c = NULL;

	(void)state;
	file_in_folder("dn1.conf", file);
	put_file("dn1.conf", "[datanode dn1]\n" DN1);
	assert_int_equal(load_with_folder("[datanode dn1]\n" DN1, &c, &errors), -EINVAL);
	snprintf(expected, sizeof(expected),
		 "%s:1: [datanode dn1]: expected each name once; %s:3 has the same name: remove "
		 "one of them\n",
		 file, path);
	assert_string_equal(errors, expected);
	free(errors);
}

static void test_folders_of_files(void **state)
{
	struct config *c;
	char *errors = NULL;

	(void)state;
	c = load_good("[vreadd]\ndatanode-files = /nonexistent\n");
	config_free(c);
	c = load_good("[vreadd]\ndatanode-files =\n");
	assert_string_equal(c->datanode_files, "");
	config_free(c);
	c = NULL;
	assert_int_equal(load_bytes("[vreadd]\ndatanode-files = /dev/null\n", 36, &c, &errors),
			 -ENOTDIR);
	check_errors(errors, ": [vreadd] datanode-files: /dev/null: cannot be read: Not a "
			     "directory\n");
	free(errors);
	assert_int_equal(load_bytes("[vreadd]\ndatanode-files = here\n", 31, &c, &errors), -EINVAL);
	check_errors(errors, ":2: [vreadd] datanode-files: here: expected a folder's path that "
			     "starts with /, or nothing\n");
	free(errors);
}

static void test_no_file(void **state)
{
	struct config *c = NULL;
	char *errors = NULL;

	(void)state;
	assert_int_equal(load_file("/nonexistent/vread.conf", &c, &errors), -ENOENT);
	assert_string_equal(errors,
			    "/nonexistent/vread.conf: No such file or directory: expected a "
			    "readable file, see vread.conf(5)\n");
	free(errors);
	assert_true(load_file("/tmp", &c, &errors) < 0);
	free(errors);
	assert_int_equal(load_file("/dev/null", &c, &errors), -EINVAL);
	assert_non_null(strstr(errors, "the file is empty: expected sections"));
	free(errors);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_guests_of_kvm),
		cmocka_unit_test(test_everything_set),
		cmocka_unit_test(test_lists_of_data_dirs),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_lines_too_long),
		cmocka_unit_test(test_too_many_lines),
		cmocka_unit_test(test_bytes_that_are_no_text),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test_setup_teardown(test_files_of_datanodes, make_folder, NULL),
		cmocka_unit_test(test_mistakes_in_files_of_datanodes),
		cmocka_unit_test_setup_teardown(test_a_datanode_in_both, NULL, remove_folder),
		cmocka_unit_test(test_folders_of_files),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
