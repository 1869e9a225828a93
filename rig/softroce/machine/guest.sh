# The second step of a guest: it stands in the host's files, and makes the RDMA device. The variables are set by the host.
. /run/command.sh # variables, and a function named command_line
path=$PATH
PATH=/usr/sbin:/usr/bin:/sbin:/bin
set -e
trap 'echo "softroce: the guest cannot make its RDMA device" >&2; exit 125' EXIT
hostname "weft$WEFT_MACHINE"
printf '127.0.0.1 localhost\n10.9.0.1 weft1\n10.9.0.2 weft2\n' >/etc/hosts
ulimit -l unlimited
ip link set lo up
if [ "$WEFT_MACHINES" = 1 ]; then
	link=wire0 # not a dummy: its speed would be unknown, which the kernel says at each look at the port
	ip link add $link type veth peer name end0
	ip link set end0 up
else
	link=eth0
fi
# Bytes: one RoCE packet that carries 4096, and room for its headers.
ip link set $link mtu 4200
ip addr add "$WEFT_ADDRESS/24" dev $link
ip link set $link up
rdma link add rxe0 type rxe netdev $link
# The device is usable when its port is active and the address has become a GID.
for _ in $(seq 100); do
	if grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state &&
		grep -qi ffff:0a09 /sys/class/infiniband/rxe0/ports/1/gids/*; then break; fi
	sleep 0.05
done
trap - EXIT
set +e
PATH=$path
command_line
