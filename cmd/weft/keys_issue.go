package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/keys"
)

// memberFlags are what a certificate says of a member.
type memberFlags struct {
	role     string
	services []string
	lasts    valid
	asJSON   bool
}

func (m *memberFlags) add(cmd *cobra.Command, services ...string) {
	m.lasts = valid(keys.DefaultValid)
	f := cmd.Flags()
	f.StringVar(&m.role, "role", "member", "`ROLE`: a word; programs give it a meaning")
	f.StringArrayVar(&m.services, "service", services, "`NAME` that it may register, or kv/* for all below kv, or * for all; may be repeated")
	f.Var(&m.lasts, "valid", "`TIME` that it lasts: 90d, 12h")
	f.BoolVar(&m.asJSON, "json", false, "print one JSON object")
}

// issue makes a certificate. If no address is known, its name is one.
func (m *memberFlags) issue(a *keys.Authority, name string, addresses []string) (*keys.Bundle, error) {
	if name == authorityName {
		return nil, fmt.Errorf("%q is the name of the authority's file: %w", name, keys.ErrArgument)
	}
	if len(addresses) == 0 {
		addresses = []string{name}
	}
	return a.Issue(keys.Request{Name: name, Role: m.role, Services: m.services, Addresses: addresses, Valid: time.Duration(m.lasts)})
}

// keysIssueOptions are the flags of weft keys issue.
type keysIssueOptions struct {
	memberFlags
	addresses []string
	out       string
	replace   bool
}

func newKeysIssue() *cobra.Command {
	o := &keysIssueOptions{}
	cmd := &cobra.Command{
		Use:   "issue DIR NAME",
		Short: "Make the certificate of one member",
		Long: `Makes NAME.pem in DIR, or where --out says: a key, a certificate for it that the
authority in DIR has signed, and the authority's own certificate. Without
--service the member may register no service, only call others.

A file that is there already stays, unless --replace is said. A program takes a
new file in use at its next handshake, without being told.`,
		Example: `  weft keys issue keys store1 --role storage --service 'kv/*' --service log
  weft keys issue keys ci --role client --valid 12h --out /run/ci`,
		Args: takes(2, 2, "the directory of the keys and a name: DIR NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0], args[1]) },
	}
	o.add(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&o.addresses, "address", nil, "host `NAME` or IP address, for clients that ask for it, such as browsers; may be repeated (NAME)")
	f.StringVar(&o.out, "out", "", "write it into `DIR`, not beside the authority")
	f.BoolVar(&o.replace, "replace", false, "take the place of a file that is there")
	return cmd
}

func (o *keysIssueOptions) run(cmd *cobra.Command, dir, name string) error {
	a, err := readAuthority(dir)
	if err != nil {
		return err
	}
	b, err := o.issue(a, name, o.addresses)
	if err != nil {
		return asUsage(err)
	}
	if o.out != "" {
		dir = o.out
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	path, put := keyPath(dir, name), b.Write
	if o.replace {
		put = b.Replace
	}
	if err := put(path); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: --replace takes its place, and 'weft keys renew' keeps what it says", path)
	} else if err != nil {
		return err
	}
	return printKeys(cmd.OutOrStdout(), o.asJSON, keyReport{Done: "made", File: path}.of(b))
}
