#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Adds the native library and the release's version to Maven's jar. As in Maven's jar (pom.xml),
# nothing is compressed.
# Usage: pack.sh JAR LIBRARY VERSION
set -eu

jar=$1
library=$2
version=$3
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build/java
work=$(mktemp -d "$build/pack.XXXXXX")
trap 'rm -rf "$work"' EXIT

arch=$(uname -m)
mkdir -p "$work/native/linux-$arch"
cp "$library" "$work/native/linux-$arch/libvread_jni.so"
strip --strip-debug "$work/native/linux-$arch/libvread_jni.so"
cp "$build/target/vread-hdfs.jar" "$work/out.jar"
echo "Implementation-Version: $version" >"$work/manifest"
jar --update --no-compress --file "$work/out.jar" --manifest "$work/manifest" -C "$work" native
mv "$work/out.jar" "$jar"
