# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the configuration folder of an HDFS: Hadoop's XML files, logging, empty web applications.
The clusters of tools/hdfs and the guests of the lab use it.

The default properties are for small daemons on loopback; a cluster's `conf` overrides them.
"""

from xml.sax.saxutils import escape

LOG4J = """\
log4j.rootLogger=${hadoop.root.logger}
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""
# The daemons look for their web applications on the class path; the jars have none.
WEB_XML = '<web-app version="2.4" xmlns="http://java.sun.com/xml/ns/j2ee"/>\n'


def default_properties(rpc, namenode_http, name_dir, block_size, replication):
    """The properties that clients, the NameNode and all DataNodes share."""
    return {
        "fs.defaultFS": f"hdfs://127.0.0.1:{rpc}",
        "hadoop.security.authentication": "simple",
        "dfs.namenode.rpc-address": f"127.0.0.1:{rpc}",
        "dfs.namenode.http-address": f"127.0.0.1:{namenode_http}",
        "dfs.namenode.name.dir": f"file://{name_dir}",
        "dfs.namenode.fs-limits.min-block-size": "512",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.safemode.extension": "0",
        "dfs.namenode.handler.count": "4",
        "dfs.datanode.handler.count": "2",
        # By default a volume with less than 1 GiB to spare counts as full.
        "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": "0",
        "dfs.heartbeat.interval": "1",
        "dfs.replication": str(replication),
        "dfs.blocksize": str(block_size),
        "dfs.checksum.type": "CRC32C",
        "dfs.bytes-per-checksum": "512",
    }


def datanode_properties(ports, data_dirs):
    """The properties of one DataNode.  data_dirs: URIs, with [TYPE] of storage before them."""
    data, http, ipc = (f"127.0.0.1:{port}" for port in ports)
    return {
        "dfs.datanode.data.dir": ",".join(data_dirs),
        "dfs.datanode.address": data,
        "dfs.datanode.http.address": http,
        "dfs.datanode.ipc.address": ipc,
        # A DataNode starts together with its NameNode: it retries every 0.1 s, for ten seconds.
        "ipc.client.connect.retry.interval": "100",
        "ipc.client.connect.max.retries": "100",
    }


def write_conf_dir(directory, properties):
    for daemon in ("hdfs", "datanode"):
        web = directory / "webapps" / daemon / "WEB-INF"
        web.mkdir(parents=True, exist_ok=True)
        (web / "web.xml").write_text(WEB_XML)
    (directory / "log4j.properties").write_text(LOG4J)
    write_site(directory, properties)


def write_site(directory, properties):
    directory.mkdir(parents=True, exist_ok=True)
    text = site(properties)
    # FsShell and the daemons read both files, so both may have all properties.
    (directory / "core-site.xml").write_text(text)
    (directory / "hdfs-site.xml").write_text(text)


def site(properties):
    """The text of a configuration file."""
    rows = "".join(
        f"  <property><name>{escape(name)}</name><value>{escape(str(value))}</value></property>\n"
        for name, value in sorted(properties.items())
    )
    return f'<?xml version="1.0"?>\n<configuration>\n{rows}</configuration>\n'
