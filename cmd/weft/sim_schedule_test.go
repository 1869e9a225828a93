package main

import (
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/rdmc/schedule"
)

//go:embed testdata/figure3.txt
var figure3 string

// Figure 3 of the RDMC paper: a tree and a pipeline of 8 members, 3 blocks.
func TestScheduleShowsFigure3(t *testing.T) {
	status, out, errs := weft("sim", "schedule", "--nodes", "8", "--blocks", "3", "--algorithm", "tree,pipeline")
	if status != 0 || out != figure3 {
		t.Errorf("status %d, %s: it prints\n%s", status, errs, out)
	}
	_, alone, _ := weft("sim", "schedule")
	if alone == "" || !strings.HasSuffix(figure3, alone) {
		t.Errorf("without flags it prints\n%s", alone)
	}
}

func TestScheduleOfManyBlocks(t *testing.T) {
	_, out, _ := weft(strings.Fields("sim schedule --racks 2x3 --blocks 12 --algorithm rack-pipeline")...)
	for _, want := range []string{"12 transfers between racks, at least 12", "member 0, rack 0  has all", "member 5, rack 1  step 3 "} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
}

// Every algorithm brings every block to every member, once, as the JSON says.
func TestScheduleSpeaksJSON(t *testing.T) {
	status, out, errs := weft(strings.Fields("sim schedule --racks 4,2,3 --blocks 5 --algorithm all --json")...)
	var r schedulesReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 {
		t.Fatalf("%v, status %d, %s", err, status, errs)
	}
	if len(r.Schedules) != len(schedule.Algorithms()) || r.Nodes != 9 || r.Blocks != 5 || len(r.Racks) != 9 || r.Version != version {
		t.Errorf("%d schedules, %d nodes, %d blocks, racks %v", len(r.Schedules), r.Nodes, r.Blocks, r.Racks)
	}
	for _, s := range r.Schedules {
		brought := map[[2]int]int{}
		for _, step := range s.Transfers {
			for _, send := range step {
				brought[[2]int{send.To, send.Block}]++
			}
		}
		if len(brought) != 8*5 || len(s.Transfers) != s.Steps || s.Bound != 8 || s.Steps < s.Bound || s.Across < 10 {
			t.Errorf("%s: %d blocks were brought in %d steps of at least %d, %d across racks", s.Algorithm, len(brought), s.Steps, s.Bound, s.Across)
		}
	}
}

func TestScheduleIsDrawn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"all.svg", "all.html"} {
		path := filepath.Join(dir, name)
		if _, _, errs := weft("sim", "schedule", "--plot", path); errs != "weft: wrote "+path+"\n" {
			t.Errorf("it says %q", errs)
		}
		if status, _, errs := weft("sim", "schedule", "--racks", "2x4", "--algorithm", "all", "--plot", path, "-q"); status != 0 || errs != "" {
			t.Fatal(status, errs)
		}
		if arrows := countElements(t, path, "send"); arrows != 8*7*3 {
			t.Errorf("%s has %d arrows", name, arrows)
		}
	}
}

// countElements counts the elements of a class in a file, which must be well-formed.
func countElements(t *testing.T, path, class string) (count int) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for d := xml.NewDecoder(file); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			for _, a := range start.Attr {
				if a.Name.Local == "class" && strings.HasPrefix(a.Value, class+" ") {
					count++
				}
			}
		}
	}
}

func TestScheduleRefuses(t *testing.T) {
	for args, says := range map[string]string{
		"--nodes 1":                       "--nodes 1: 2 to 5000 can be shown",
		"--nodes 5001":                    "2 to 5000",
		"--blocks 0":                      "a message has 1 block at least",
		"--nodes 101 --blocks 2001":       "up to --blocks 2000 can be shown",
		"--blocks 9223372036854775807":    "too many to look at",
		"--algorithm fast":                `--algorithm: `,
		"--algorithm ,":                   `--algorithm: `,
		"--algorithm tree,tree":           "tree is named twice",
		"--algorithm rack-chain":          "needs --racks",
		"--racks 2x":                      "4,4,8, or 8x64 for 8 racks of 64",
		"--racks 0x4":                     "4,4,8, or 8x64",
		"--racks 1,9223372036854775807x1": "4,4,8, or 8x64",
		"--racks 100x100":                 "up to 5000 members can be shown",
		"--racks 2x4 --nodes 9":           "has 8 members, and --nodes says 9",
		"--stripes 0":                     "--stripes: 0 makes no sense: leave it out, and it is 1",
		"--plot=":                         `--plot "": write FILE.svg`,
		"--stripes 65 --blocks 65":        "65 stripes: a group has 1 to 64",
		"--stripes 9 --blocks 2":          "--stripes 9: 2 blocks cannot go by more schedules than there are blocks",
		"--plot -":                        `--plot "-": write FILE.svg`,
		"--plot a.png":                    "write FILE.svg",
		"--plot no/such/a.svg":            "there is no directory no/such",
		"now":                             `schedule takes no argument "now"`,
		"--racks 2x2 --algorithm rack-stripes --stripes -1": "stripes",
	} {
		status, out, errs := weft(append([]string{"sim", "schedule"}, strings.Fields(args)...)...)
		if status != exitUsage || out != "" || !strings.Contains(errs, says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %q on stderr, want %q; it printed %.100s", args, status, errs, says, out)
		}
	}
}

// What cannot be drawn is not printed either, and nothing is left on disk.
func TestScheduleTooLargeToDraw(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.svg")
	status, out, errs := weft("sim", "schedule", "--nodes", "512", "--plot", path)
	if status != exitUsage || out != "" || !strings.Contains(errs, "take fewer members or blocks") {
		t.Errorf("status %d, %q, %s", status, out, errs)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written")
	}
}
