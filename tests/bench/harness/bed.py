"""Where measurements run: a test-bed of shaped links (`weft testbed`), or this machine's own loopback."""

import re

from harness import processes

INTERFACE = "weft0"
UP_SECONDS = 60


class Loopback:
    """No links to speak of: ranks share memory or talk over `lo`."""

    interface = "lo"
    weft_options = ()

    def address(self, _host):
        return "127.0.0.1"

    def on(self, _host, command):
        return command

    def close(self):
        pass


class Bed:
    """`hosts` namespaces whose links carry `rate` (as in 100mbit) each way; `host_rates`: {host: rate} of others."""

    interface = INTERFACE

    def __init__(self, weft, name, hosts, rate, host_rates):
        self.weft, self.name = weft, name
        self.weft_options = ("--testbed", name)
        self.close()
        command = [weft, "testbed", "up", name, "--hosts", str(hosts), "--rate", rate]
        for host, other in host_rates.items():
            command += ["--host-rate", f"{host}={other}"]
        processes.run(command, UP_SECONDS)
        shown = processes.run([weft, "testbed", "show", name], UP_SECONDS)
        self.addresses = re.findall(r"^\d+\s+(\S+)", shown, re.M)

    def address(self, host):
        return self.addresses[host]

    def on(self, host, command):
        return [self.weft, "testbed", "exec", self.name, str(host), "--", *command]

    def close(self):
        """Also what a run that was killed left behind."""
        listed = processes.run([self.weft, "testbed", "list"], UP_SECONDS)
        if re.search(rf"^{re.escape(self.name)}:", listed, re.M):
            processes.run([self.weft, "testbed", "down", self.name], UP_SECONDS)
