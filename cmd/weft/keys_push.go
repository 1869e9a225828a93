package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/keys"
	"github.com/weft-fabric/weft/push/control"
	"github.com/weft-fabric/weft/push/hosts"
)

// namesForPush are the hosts of a list, and whoever pushes to them.
func namesForPush(cmd *cobra.Command, list []string) ([]string, error) {
	if f := cmd.Flags(); f.Changed("role") || f.Changed("service") {
		return nil, errors.New("--push says which role and services they have: leave out --role and --service")
	}
	all, err := hosts.Parse(list, func(name string) ([]byte, error) { return readNamed(cmd, name) })
	if err != nil {
		return nil, err
	}
	if len(all) > maxMembers {
		return nil, fmt.Errorf("%d hosts: %d are made at a time", len(all), maxMembers)
	}
	var names []string
	for _, h := range all {
		if h.Name == control.RolePusher || h.Name == authorityName {
			return nil, fmt.Errorf("a host cannot be called %q: that file is another's", h.Name)
		}
		names = append(names, h.Name)
	}
	return append(names, control.RolePusher), nil
}

// requestForPush is what the certificate of a host says, or that of who pushes: an agent's cannot push, and a pusher has no service.
func requestForPush(name string, lasts time.Duration) keys.Request {
	r := keys.Request{Name: name, Role: control.RolePusher, Valid: lasts}
	if name != control.RolePusher {
		r.Role, r.Services, r.Addresses = control.RoleAgent, []string{control.Service(name)}, []string{name}
	}
	return r
}
