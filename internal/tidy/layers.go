package tidy

// A layer says what some packages may import beside the standard library.
type layer struct {
	packages []string // patterns: whom the layer is about
	may      []string // patterns: packages of this module, without the module's path, and of others
	never    []string // patterns: packages of the standard library that are closed to this layer
	reason   string   // completes the sentence "… because"
}

// outside is what reaches past the border of a protocol: other threads, the machine, chance.
var outside = words("sync/... os/... net/... syscall math/rand/... crypto/rand")

// protocols are the machines that a loop steps.
var protocols = words("rdmc ripc/link mu bcast swarm")

// below is what every package above the verbs may use.
const below = "clock internal/... verbs loop"

// layers is the order of the tree, from the bottom to the top. The first layer that a package fits is its own; a
// package that fits none is a finding, so a new package begins with a line here.
var layers = []layer{
	{
		packages: words("clock"),
		reason:   "everything stands on it",
	},
	{
		packages: words("quorum breakdown rdmc/schedule mu/slot ripc/wire"),
		never:    outside,
		reason:   "a pure leaf can be understood, exhausted and fuzzed alone",
	},
	{
		packages: words("rdmc/tune"),
		may:      words("rdmc/schedule"),
		never:    outside,
		reason:   "a choice is a pure function of what is known of a group and its network",
	},
	{
		packages: words("internal/leak/leaktest"),
		may:      words("internal/leak go.uber.org/goleak"),
		reason:   "it joins our leak check and goleak's, and nothing else",
	},
	{
		packages: words("internal/..."),
		may:      words("internal/..."),
		reason:   "small leaves need the standard library only",
	},
	{
		packages: words("keys"),
		may:      words("internal/..."),
		reason:   "who is who must be judged by as little code as possible, and by all who connect",
	},
	{
		packages: words("verbs/driver"),
		may:      words("clock"),
		reason:   "whoever writes a provider should have to read this one package",
	},
	{
		packages: words("verbs"),
		may:      words("verbs/driver clock internal/... golang.org/x/sys/..."),
		reason:   "importing the verbs must not pull in a provider or a heavy dependency",
	},
	{
		packages: words("verbs/verbstest/..."),
		may: words("verbs verbs/driver verbs/verbstest/... loop clock internal/... pgregory.net/rapid",
			"golang.org/x/sys/..."),
		reason: "the suite judges every provider, so it may know none",
	},
	{
		packages: words("provider/sim/..."),
		may:      words("verbs/driver clock internal/... breakdown provider/sim/..."),
		reason:   "a provider knows the driver contract and, here, the model that it charges time by",
	},
	{
		packages: words("provider/..."),
		may:      words("verbs/driver clock internal/... golang.org/x/sys/... provider/..."),
		reason:   "a provider that knew the verbs, the loop or a protocol could not be exchanged for another",
	},
	{
		packages: words("loop"),
		may:      words("verbs clock internal/..."),
		reason:   "a loop runs on any provider and knows no protocol",
	},
	{
		packages: words("endpoint connect connect/mesh"),
		may:      words(below, "connect"),
		reason:   "they arrange queue pairs for protocols, and know none of them",
	},
	{
		packages: protocols,
		may:      words(below, "quorum rdmc/schedule mu/slot ripc/wire"),
		never:    outside,
		reason:   "a protocol sees work, completions and its own memory: only then does the simulator prove something",
	},
	{
		packages: words("rdmc/muster rdmc/muster/crew"),
		may:      words(below, "connect connect/mesh rdmc rdmc/schedule"),
		reason:   "it brings the members of groups together, out of band",
	},
	{
		packages: words("ripc/find"),
		may:      words("clock internal/... ripc/wire"),
		reason:   "where a service is has nothing to do with how messages travel",
	},
	{
		packages: words("ripc/find/etcd/..."),
		may:      words("clock internal/... ripc/wire ripc/find go.etcd.io/etcd/... go.uber.org/zap google.golang.org/grpc/..."),
		reason:   "what etcd needs is heavy, so nobody but programs imports it",
	},
	{
		packages: words("ripc/find/..."),
		may:      words("clock internal/... ripc/wire ripc/find golang.org/x/sys/..."),
		reason:   "a resolver knows records, and its own way to tell them",
	},
	{
		packages: words("ripc/metrics"),
		may:      words("ripc github.com/prometheus/client_golang/..."),
		reason:   "who wants no Prometheus does not import it",
	},
	{
		packages: words("ripc/here"),
		may:      words("keys loop provider/soft ripc ripc/find ripc/find/host verbs"),
		reason:   "it chooses a provider and a resolver, so that a program need not",
	},
	{
		packages: words("ripc ripc/..."),
		may:      words(below, "connect keys ripc/wire ripc/link ripc/find ripc"),
		reason:   "it joins the machine of links with goroutines, names and the world",
	},
	{
		packages: words("push/hosts"),
		never:    outside,
		reason:   "a pure leaf can be understood, exhausted and fuzzed alone",
	},
	{
		packages: words("push/manifest"),
		may:      words("internal/... github.com/zeebo/blake3 lukechampine.com/blake3"),
		never:    words("sync/... os/... net/... syscall math/rand/..."),
		reason:   "what is believed of a push must be judged by as little code as possible",
	},
	{
		packages: words("push/control"),
		may:      words("internal/... push/manifest rdmc/schedule"),
		never:    outside,
		reason:   "what is said can be checked and fuzzed alone",
	},
	{
		packages: words("push/straggler"),
		may:      words("push/control"),
		never:    outside,
		reason:   "a judgement is a pure function of what was measured",
	},
	{
		packages: words("push/source push/target"),
		may:      words("internal/... push/manifest golang.org/x/sys/... github.com/zeebo/blake3 lukechampine.com/blake3"),
		reason:   "files know nothing of networks",
	},
	{
		packages: words("push/member"),
		may:      words(below, "rdmc rdmc/schedule push/manifest push/control"),
		reason:   "it joins a multicast group with whoever has the blocks, and knows no file",
	},
	{
		packages: words("push/way"),
		may:      words("keys loop provider/soft ripc ripc/find ripc/find/static verbs internal/... push/manifest push/control"),
		reason:   "it opens what a process needs to take part in pushes, so that others need not know providers",
	},
	{
		packages: words("push"),
		may: words(below, "keys ripc ripc/find ripc/find/static rdmc rdmc/schedule rdmc/tune push/...",
			"golang.org/x/sys/... github.com/zeebo/blake3 lukechampine.com/blake3"),
		reason: "services join protocols, and leave the choice of a provider to the command",
	},
	{
		packages: words("kv"),
		may: words(below, "endpoint connect/... connect quorum rdmc rdmc/muster rdmc/schedule ripc mu bcast swarm",
			"github.com/zeebo/blake3 github.com/klauspost/compress/..."),
		reason: "services join protocols, and leave the choice of a provider to the command",
	},
	{
		packages: words("agent"),
		may: words(below, "keys endpoint connect/... connect rdmc rdmc/muster rdmc/schedule ripc ripc/metrics push/... kv",
			"golang.org/x/sys/... github.com/prometheus/client_golang/... github.com/hashicorp/memberlist"),
		reason: "the daemon joins services, and leaves the choice of a provider to the command",
	},
	{
		packages: words("resp web"),
		may:      words("internal/..."),
		reason:   "a front end is written against an interface of its own, so that it can be tested against a map",
	},
	{
		packages: words("cmd/... simtest/... bench/... examples/... rig/..."),
		may:      words("..."),
		reason:   "programs choose their parts",
	},
}

// forTests is what test files may import beside what their package may: tests stand on top of everything but the
// programs. What is closed to a package of the standard library is open to its tests.
var forTests = words("verbs/... clock internal/... loop provider/... simtest/... connect connect/... ripc/find/...",
	"quorum rdmc/... breakdown keys push/... agent ripc ripc/...",
	"go.uber.org/goleak pgregory.net/rapid github.com/anishathalye/porcupine github.com/rogpeppe/go-internal/...",
	"github.com/redis/go-redis/... github.com/redis/rueidis golang.org/x/net/nettest golang.org/x/sys/...",
	"google.golang.org/grpc/... google.golang.org/protobuf/...")

// layerOf returns the layer of a package, or nil.
func layerOf(pkg string) *layer {
	for i := range layers {
		if matches(layers[i].packages, pkg) {
			return &layers[i]
		}
	}
	return nil
}
