package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/keys"
)

// keysMakeOptions are the flags of weft keys make.
type keysMakeOptions struct {
	memberFlags
	cluster string
	push    bool
}

func newKeysMake() *cobra.Command {
	o := &keysMakeOptions{}
	cmd := &cobra.Command{
		Use:   "make DIR NAME...",
		Short: "Make a cluster's authority, and a certificate for each host",
		Long: `Makes the authority of a cluster in DIR, if there is none, and a certificate for
each host that has none there. So it can be said again, with the hosts that have
come since. Unless --service says less, each may register every service.

Bring each NAME.pem to its host by a way that you trust, ssh for instance;
authority.pem stays where it is.

With --push they are for 'weft push': each host's is for its agent, which cannot
push; pusher.pem is for whoever may. Hosts are then written as for 'weft push'.`,
		Example: `  weft keys make keys host1 host2 host3
  weft keys make keys 'node[01-64]' --push
  weft keys make keys store1 store2 --cluster lab --role store --service 'kv/*'`,
		Args: takes(2, 1+maxMembers, "the directory of the keys and the names of hosts: DIR NAME..."),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0], args[1:]) },
	}
	o.add(cmd, "*")
	cmd.Flags().StringVar(&o.cluster, "cluster", defaultCluster, "`NAME` of the cluster, if it is new")
	cmd.Flags().BoolVar(&o.push, "push", false, "for 'weft push': the agents of these hosts, and one who may push")
	return cmd
}

func (o *keysMakeOptions) run(cmd *cobra.Command, dir string, names []string) (err error) {
	if o.push {
		if names, err = namesForPush(cmd, names); err != nil {
			return usageError{err}
		}
	}
	if err := o.try(names); err != nil {
		return asUsage(err)
	}
	a, authority, err := o.authority(cmd, dir)
	if err != nil {
		return asUsage(err)
	}
	reports := []keyReport{authority}
	for _, name := range names {
		r, err := o.member(a, dir, name)
		if err != nil {
			return asUsage(err)
		}
		reports = append(reports, r)
	}
	return printKeys(cmd.OutOrStdout(), o.asJSON, reports...)
}

// certificate makes that of one member.
func (o *keysMakeOptions) certificate(a *keys.Authority, name string) (*keys.Bundle, error) {
	if o.push {
		return a.Issue(requestForPush(name, time.Duration(o.lasts)))
	}
	return o.issue(a, name, nil)
}

// try issues everything by an authority that nobody will see: what is wrong is said before a file is written.
func (o *keysMakeOptions) try(names []string) error {
	a, err := keys.NewAuthority(o.cluster, 0)
	if err != nil {
		return err
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("%q is named twice: %w", name, keys.ErrArgument)
		}
		if _, err := o.certificate(a, name); err != nil {
			return err
		}
	}
	return nil
}

// authority reads the authority, or makes it.
func (o *keysMakeOptions) authority(cmd *cobra.Command, dir string) (*keys.Authority, keyReport, error) {
	r := keyReport{Done: "kept", File: keyPath(dir, authorityName)}
	a, err := keys.ReadAuthority(r.File)
	if errors.Is(err, fs.ErrNotExist) {
		r.Done = "made"
		a, err = newAuthority(dir, o.cluster, 0)
	}
	if err != nil {
		return nil, r, err
	}
	if cmd.Flags().Changed("cluster") && o.cluster != a.Cluster() {
		return nil, r, fmt.Errorf("--cluster %s: %s is of cluster %s; take another directory: %w", o.cluster, r.File, a.Cluster(), keys.ErrArgument)
	}
	return a, r.of(a.Bundle()), nil
}

// member makes the certificate of a member that has none.
func (o *keysMakeOptions) member(a *keys.Authority, dir, name string) (keyReport, error) {
	r := keyReport{Done: "kept", File: keyPath(dir, name)}
	if _, err := os.Stat(r.File); err == nil {
		b, err := readMember(a, r.File)
		if err != nil {
			return r, err
		}
		return r.of(b), nil
	}
	b, err := o.certificate(a, name)
	if err != nil {
		return r, err
	}
	r.Done = "made"
	return r.of(b), b.Write(r.File)
}

// readMember reads the file of a member, which must have it from this authority.
func readMember(a *keys.Authority, path string) (*keys.Bundle, error) {
	b, err := keys.Read(path)
	if err != nil {
		return nil, err
	}
	if _, err := keys.IdentityOf(b.Certificate); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := b.Certificate.CheckSignatureFrom(a.Bundle().Certificate); err != nil {
		return nil, fmt.Errorf("%s is not from this authority: remove it, or 'weft keys issue --replace' it: %w", path, err)
	}
	return b, nil
}
