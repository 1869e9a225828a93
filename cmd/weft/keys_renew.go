package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/keys"
)

func newKeysRenew() *cobra.Command {
	m := &memberFlags{lasts: valid(keys.DefaultValid)}
	cmd := &cobra.Command{
		Use:   "renew DIR [NAME...]",
		Short: "Make certificates anew before they end, with new keys",
		Long: `Replaces NAME.pem in DIR, of all members if none is named, by one with a new key
and a new end. Who it is and what it may register stay as they were. Bring the
file to its host: what runs there takes it in use at its next handshake.`,
		Example: `  weft keys renew keys
  weft keys renew keys host1 --valid 30d`,
		Args: takes(1, 1+maxMembers, "the directory of the keys, and perhaps names: DIR [NAME...]"),
		RunE: func(cmd *cobra.Command, args []string) error { return m.renew(cmd, args[0], args[1:]) },
	}
	cmd.Flags().Var(&m.lasts, "valid", "`TIME` that it lasts: 90d, 12h")
	cmd.Flags().BoolVar(&m.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (m *memberFlags) renew(cmd *cobra.Command, dir string, names []string) error {
	a, err := readAuthority(dir)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if names, err = membersIn(dir); err != nil {
			return err
		}
	}
	var fresh []*keys.Bundle // all of them before any is written
	for _, name := range names {
		b, err := m.again(a, keyPath(dir, name))
		if err != nil {
			return asUsage(err)
		}
		fresh = append(fresh, b)
	}
	var reports []keyReport
	for i, b := range fresh {
		path := keyPath(dir, names[i])
		if err := b.Replace(path); err != nil {
			return err
		}
		reports = append(reports, keyReport{Done: "renewed", File: path}.of(b))
	}
	return printKeys(cmd.OutOrStdout(), m.asJSON, reports...)
}

// membersIn are the names of all members in a directory.
func membersIn(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".pem")
		if ok && name != authorityName && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no member in %s: 'weft keys issue %s NAME' makes one", filepath.Clean(dir), dir)
	}
	return names, nil
}

// again issues what a file says once more. Other authorities that it trusts stay trusted.
func (m *memberFlags) again(a *keys.Authority, path string) (*keys.Bundle, error) {
	before, err := readMember(a, path)
	if err != nil {
		return nil, err
	}
	id, err := keys.IdentityOf(before.Certificate)
	if err != nil {
		return nil, err
	}
	m.role, m.services = id.Role, id.Services
	b, err := m.issue(a, id.Name, addressesOf(before.Certificate))
	if err != nil {
		return nil, err
	}
	for _, c := range before.Authorities {
		if !c.Equal(a.Bundle().Certificate) {
			b.Authorities = append(b.Authorities, c)
		}
	}
	return b, nil
}
