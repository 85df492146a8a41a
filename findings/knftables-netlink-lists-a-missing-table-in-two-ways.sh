#!/bin/bash
# sigs.k8s.io/knftables v0.0.22 (the nftables library of kube-proxy 1.37.2), option UseNetlink, Linux.
# Expected: "The IsNotFound and IsAlreadyExists methods can be used to test the result" (nftables.go). List() of a table that
#   does not exist returns an error of which IsNotFound is true, as without the option, whatever kind of object is listed.
# Seen: with UseNetlink, List() of chains returns an empty list and no error. List() of sets or maps, and ListAll(), return
#   the words of netlink as a new error, of which IsNotFound and errors.Is(err, ENOENT) are false: a caller cannot tell a
#   table that is not there yet from a real failure.
# Who meets it: callers that turn the option on and create their table when IsNotFound says so, or take an empty list of chains
#   for an empty table. kube-proxy 1.37 has it on by default in nftables mode (NFTablesNetlink): its first sync after a boot
#   logs an error for each IP family, "Failed to list existing sets" err="receiveAckAware: netlink receive: no such file
#   or directory", with nothing about chains.
# Needs nft, and root or user namespaces. Nothing of the machine's own tables is read or changed.
# Output, 2026-11-28:
#   chains  nft: IsNotFound true, ENOENT false  UseNetlink: 0 objects, no error
#   sets    nft: IsNotFound true, ENOENT false  UseNetlink: IsNotFound false, ENOENT false
#   maps    nft: IsNotFound true, ENOENT false  UseNetlink: IsNotFound false, ENOENT false
#   all     nft: IsNotFound true, ENOENT false  UseNetlink: IsNotFound false, ENOENT false
#   still so
set -u; d=$(mktemp -d); trap 'chmod -R u+w "$d"; rm -rf "$d"' EXIT; cd "$d"
cat > main.go <<'G'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"sigs.k8s.io/knftables"
)

func describe(n int, err error) string {
	if err == nil {
		return fmt.Sprintf("%d objects, no error", n)
	}
	return fmt.Sprintf("IsNotFound %t, ENOENT %t", knftables.IsNotFound(err), errors.Is(err, syscall.ENOENT))
}

// What the lists of a table that does not exist return, by kind of object.
func lists(options ...knftables.Option) map[string]string {
	nft, err := knftables.New(knftables.IPv4Family, "absent", options...)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	seen := map[string]string{}
	for _, kind := range []string{"chains", "sets", "maps"} {
		names, err := nft.List(context.Background(), kind)
		seen[kind] = describe(len(names), err)
	}
	all, err := nft.ListAll(context.Background())
	seen["all"] = describe(len(all), err)
	return seen
}

func main() {
	plain, netlink := lists(), lists(knftables.UseNetlink)
	for _, kind := range []string{"chains", "sets", "maps", "all"} {
		fmt.Printf("%-7s nft: %-30s UseNetlink: %s\n", kind, plain[kind], netlink[kind])
	}
	still := plain["sets"] != netlink["sets"] && plain["chains"] != netlink["chains"] && netlink["sets"] != netlink["chains"]
	if !still {
		os.Exit(1)
	}
}
G
{ go mod init example.com/missing && go mod edit -require sigs.k8s.io/knftables@v0.0.22 && go mod tidy && CGO_ENABLED=0 go build -o t .; } >log 2>&1 || { tail -3 log; echo "install fails"; exit 1; }
# A network namespace of its own has no table at all.
new="unshare -n"; [ "$(id -u)" = 0 ] || new="unshare -rn"
timeout 30 $new ./t; rc=$?; [ $rc = 0 ] && echo "still so" || echo "changed (exit $rc)"; [ $rc = 0 ]
