// SPDX-License-Identifier: GPL-2.0-or-later
package io.vread.bench;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;

/** What client.py says about the round, a line for each setting: {@code NAME VALUE}. */
final class Settings {
  static final class HdfsFile {
    final String path;
    final String digests; // a file of this machine

    HdfsFile(String path, String digests) {
      this.path = path;
      this.digests = digests;
    }
  }

  final Configuration conf = new Configuration();
  final List<HdfsFile> files = new ArrayList<>();
  final List<InetSocketAddress> datanodes = new ArrayList<>(); // preferred for what is written
  HdfsFile warm; // read to warm up, and by no measurement
  String workload = "";
  String written = ""; // the HDFS folder of what the round writes
  int request;
  int readers = 1;
  int count; // of positional reads of each reader
  long size; // of each file
  long seed;

  void set(String line) {
    String[] words = line.split(" ", 3);
    switch (words[0]) {
      case "property":
        conf.set(words[1], words.length > 2 ? words[2] : "");
        break;
      case "workload":
        workload = words[1];
        break;
      case "request":
        request = Integer.parseInt(words[1]);
        break;
      case "readers":
        readers = Integer.parseInt(words[1]);
        break;
      case "count":
        count = Integer.parseInt(words[1]);
        break;
      case "size":
        size = Long.parseLong(words[1]);
        break;
      case "seed":
        seed = Long.parseLong(words[1]);
        break;
      case "written":
        written = words[1];
        break;
      case "file":
        files.add(new HdfsFile(words[1], words[2]));
        break;
      case "warm":
        warm = new HdfsFile(words[1], words[2]);
        break;
      case "datanodes":
        for (String address : words[1].split(",")) {
          int colon = address.lastIndexOf(':');
          int port = Integer.parseInt(address.substring(colon + 1));
          datanodes.add(new InetSocketAddress(address.substring(0, colon), port));
        }
        break;
      default: // for a stub of this client
        break;
    }
  }
}
