#!/bin/sh
# Runs once: what the namespaces of the nodes stand on. In the end the machine takes commands; see machine.ts.
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mkdir -p /var/log /nodes
# Without it ipset and nft do not know protocols by their names.
printf 'ip 0\nicmp 1\ntcp 6\nudp 17\nsctp 132\n' > /etc/protocols

# With the alternatives that a package's scripts would have set up.
for name in iptables iptables-restore iptables-save ip6tables ip6tables-restore ip6tables-save; do
  ln -sf xtables-legacy-multi "/usr/sbin/$name"
done

# The rest (schedulers, sets, matches and targets) the kernel loads by itself when it is asked for.
modprobe -a virtio_pci virtio_net veth dummy ip_vs nf_conntrack

# The network of QEMU's user networking: 10.0.2.2 is the loopback of the host.
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
ip route add default via 10.0.2.2
# The wrapper refuses a Host that is not its own address, and 10.0.2.2 is an address of this machine's network alone.
echo '10.0.2.2 localhost' > /etc/hosts
sysctl -qw net.ipv4.ip_forward=1
iptables -t nat -A POSTROUTING -s 10.77.0.0/16 -o eth0 -j MASQUERADE

# A shell for each connection from the host.
export PATH=/usr/sbin:/usr/bin
nc -ll -p 7000 -e /bin/sh </dev/null >/dev/null 2>&1 &
echo 'the machine takes commands' >/dev/console
