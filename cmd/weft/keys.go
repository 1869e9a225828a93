package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/keys"
)

// newKeys is the parent of what makes certificates.
func newKeys() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make a cluster's authority and certificates, and look at them",
		Long: `Members of a cluster know each other by certificates that its authority has
signed. A certificate says who its owner is: its name, its role, and which
services it may register.

'weft keys make' is all that a small cluster needs. It is all in one directory:
authority.pem, which can make anybody a member and stays where it is, and a
NAME.pem for each member, with its key and all that it needs to know the others.
All these files are secret: bring each to its host by a way that you trust.`,
		Example: `  weft keys make keys host1 host2 host3
  weft keys issue keys web1 --role web --service web/1
  weft keys show keys/web1.pem
  weft keys renew keys`,
		Args: noMore,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeysMake(), newKeysInit(), newKeysIssue(), newKeysRenew(), newKeysShow())
	return cmd
}

// authorityName is the authority's in a directory of keys; no member has it.
const authorityName = "authority"

// keyPath is where the file of a member is, or that of the authority.
func keyPath(dir, name string) string { return filepath.Join(dir, name+".pem") }

// valid is a flag: how long a certificate lasts. Days are what people count that in.
type valid time.Duration

const oneDay = 24 * time.Hour

func (v *valid) String() string {
	if d := time.Duration(*v); d%oneDay != 0 {
		return d.String()
	}
	return fmt.Sprintf("%dd", time.Duration(*v)/oneDay)
}

func (v *valid) Type() string { return "time" }

var errValid = fmt.Errorf("write it as 90d or 12h, up to %dd", keys.MaxValid/oneDay)

// Set reads the flag.
func (v *valid) Set(text string) error {
	d, err := time.ParseDuration(text)
	if number, ok := strings.CutSuffix(text, "d"); ok {
		var days int
		days, err = strconv.Atoi(number)
		d = time.Duration(min(max(days, 0), int(keys.MaxValid/oneDay)+1)) * oneDay
	}
	if err != nil || d < time.Minute || d > keys.MaxValid {
		return errValid
	}
	*v = valid(d)
	return nil
}

// takes has a command take arguments, of which the last may be repeated; words are their names.
func takes(least, most int, words string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usageError{fmt.Errorf("%s takes %s; see '%s --help'", cmd.Name(), words, cmd.CommandPath())}
		}
		return nil
	}
}

// maxMembers is how many members one command makes certificates for.
const maxMembers = 10_000

// readAuthority reads the authority of a directory, and says how to make one.
func readAuthority(dir string) (*keys.Authority, error) {
	a, err := keys.ReadAuthority(keyPath(dir, authorityName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no authority in %s: 'weft keys init %s' makes one: %w", dir, dir, err)
	}
	return a, err
}

// newAuthority makes the authority of a cluster, in a directory that only its owner can read.
func newAuthority(dir, cluster string, lasts time.Duration) (*keys.Authority, error) {
	a, err := keys.NewAuthority(cluster, lasts)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := keyPath(dir, authorityName)
	if err := a.Bundle().Write(path); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is there already, and stays as it is: who has a certificate from it would lose it", path)
	} else if err != nil {
		return nil, err
	}
	return a, nil
}

// asUsage makes an error of the command line of one that is about what was asked for.
func asUsage(err error) error {
	if errors.Is(err, keys.ErrArgument) {
		return usageError{errors.New(strings.TrimSuffix(err.Error(), ": "+keys.ErrArgument.Error()))}
	}
	return err
}

func newKeysInit() *cobra.Command {
	var asJSON bool
	cluster, lasts := "", valid(keys.DefaultAuthorityValid)
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Make the authority of a cluster",
		Long: `Makes DIR/authority.pem: the key that signs the certificates of a cluster, and
its own certificate. An authority that is there already is never replaced.`,
		Example: `  weft keys init keys --cluster lab`,
		Args:    takes(1, 1, "the directory of the keys: DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := newAuthority(args[0], cluster, time.Duration(lasts))
			if err != nil {
				return asUsage(err)
			}
			return printKeys(cmd.OutOrStdout(), asJSON, keyReport{Done: "made", File: keyPath(args[0], authorityName)}.of(a.Bundle()))
		},
	}
	f := cmd.Flags()
	f.StringVar(&cluster, "cluster", defaultCluster, "`NAME` of the cluster: its members know each other by it, too")
	f.Var(&lasts, "valid", "`TIME` that the authority lasts: no certificate lasts longer")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// defaultCluster is the name of a cluster whose owner has no other.
const defaultCluster = "weft"
