#!/bin/busybox sh
# The first process of a guest, before it has any file of the host. Should a step fail, the shell ends, therefore the
# kernel panics, and the host shows what the console says.
set -e
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*; do insmod "$module"; done

# The host's files, and a layer above them that takes what is written.
mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,cache=loose,ro host /host
mount -t tmpfs tmpfs /layer
mkdir /layer/upper /layer/work
mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work root /root
for folder in proc sys dev; do mount --bind /$folder /root/$folder; done
mkdir /dev/shm /dev/pts
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/0 /dev/stdin
ln -s /proc/self/fd/1 /dev/stdout
ln -s /proc/self/fd/2 /dev/stderr
mount -t tmpfs -o mode=1777 tmpfs /root/dev/shm
mount -t devpts devpts /root/dev/pts
mount -t tmpfs tmpfs /root/run
cp /guest.sh /command.sh /root/run/

# What the command writes leaves by two ports; the mark behind it, with the status, is how the host knows that it has all.
read -r mark </mark
exec 3>"$(echo /dev/vport*p1)" 4>"$(echo /dev/vport*p2)"
echo "guest: ready" >/dev/console
status=0
chroot /root /bin/sh /run/guest.sh </dev/null >&3 2>&4 3>&- 4>&- || status=$?
echo "$mark $status" >&3
echo "$mark $status" >&4
while :; do sleep 1000; done # until the host ends the machine: a peer may need its wire still
