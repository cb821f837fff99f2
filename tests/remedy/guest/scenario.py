"""What is set up on a guest's interface ``eth0`` in these tests, as commands of ``ip``."""

RICH = """\
link set dev eth0 txqueuelen 777 mtu 1400 promisc on allmulticast on group 7
link set dev eth0 up
addr add 10.1.0.2/24 brd + dev eth0 label eth0:web
addr add 10.1.0.3/24 dev eth0
addr add 10.9.9.1 peer 10.9.9.2/32 dev eth0
addr add 10.2.0.2/24 dev eth0 noprefixroute metric 77 valid_lft 3600 preferred_lft 1800
addr add 10.3.0.2/24 dev eth0 scope link
addr add fd00::2/64 dev eth0
addr add fd00::3/64 dev eth0 nodad
addr add fd00:1::2/64 dev eth0 noprefixroute home mngtmpaddr valid_lft 1000 preferred_lft 500
addr add fd00:3::2/64 dev eth0 preferred_lft 0
addr add fd00:5::1 peer fd00:5::2/128 dev eth0
addr add fe80::77/64 dev eth0
route add 10.2.0.0/24 dev eth0 proto kernel scope link src 10.2.0.2 metric 77
route add default via 10.1.0.1 metric 100 src 10.1.0.3 proto dhcp mtu 1300 advmss 1200 initcwnd 10
route add default via 10.77.0.9 metric 200 onlink dev eth0 tos 0x10 mtu 1200 rtt 30ms rttvar 20ms \
window 4000 hoplimit 7 quickack 1 congctl reno initrwnd 7 ssthresh 5 cwnd 5 reordering 4 \
fastopen_no_cookie 1
route add 10.5.0.0/16 dev eth0 table 50 scope link
route add 10.8.0.0/16 via inet6 fd00::9 dev eth0
route add multicast 224.5.0.0/16 dev eth0
route add local 10.44.0.0/16 dev eth0
-6 route add default via fe80::1 dev eth0 metric 300 pref high
-6 route add fd77::/64 via fd00::9 dev eth0 table 51 expires 3000 src fd00::2
-6 route add fd79::/64 from fd00::/64 dev eth0
-6 route add multicast ff05::/16 dev eth0 table local
-6 rule add oif eth0 table 51 pref 1001
neigh add 10.1.0.1 lladdr 52:54:00:aa:bb:cc dev eth0 nud permanent
neigh add proxy 10.1.0.99 dev eth0
-6 neigh add fd00::9 lladdr 52:54:00:aa:bb:cc dev eth0 nud permanent router
-6 neigh add proxy fd00::99 dev eth0
"""

PLAIN = """\
link set dev eth0 up
addr add 10.1.0.2/24 brd + dev eth0
addr add fd00::2/64 dev eth0
route add default via 10.1.0.1
"""

REFUSED = {
    "encap": "route add 10.11.0.0/16 encap ip id 100 dst 10.1.0.5 via 10.1.0.5 dev eth0",
    "encap-seg6": "-6 route add fd78::/64 encap seg6 mode encap segs fc00::1 dev eth0",
    "ecn": "route add 10.12.0.0/16 dev eth0 features ecn",
    "flow": "route add 10.13.0.0/16 dev eth0 realms 3/4",
    "nhid": "route add 10.10.0.0/16 nhid 5",
    "several next hops": (
        "route add 10.6.0.0/16 nexthop via 10.1.0.7 dev eth0 nexthop via 10.1.0.8 dev eth1 onlink"
    ),
    "several IPv6 next hops": (
        "-6 route add fd80::/64 nexthop via fd00::7 dev eth0 nexthop via fd00::8 dev eth0"
    ),
    "rto_min": "route add 10.14.0.0/16 dev eth0 rto_min 2s",
}
"""What cannot be put back -> a route that has it."""
