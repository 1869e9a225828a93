package etcd

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-fabric/weft/ripc/find"
	"github.com/weft-fabric/weft/ripc/wire"
)

// maxBase is the largest base of epochs. No cluster lives to see a revision that makes a sum above find.MaxEpoch of it.
const maxBase = 1 << 62

// The last parts of keys that are not a process.
const (
	holder = "holder" // who has the service
	wish   = "wanted" // who wants it
)

// keys are the names in the directory; see the package's documentation.
type keys struct {
	services string // what all records begin with
	epochs   string
}

func newKeys(prefix string) keys {
	return keys{services: prefix + "services/", epochs: prefix + "epochs"}
}

// of is what the keys of one service begin with.
func (k keys) of(id wire.ID) string { return k.services + hex.EncodeToString(id[:]) + "/" }

// record is where a record belongs.
func (k keys) record(r *find.Record) string {
	if r.Service.Kind() == wire.Group {
		return k.of(r.Service) + hex.EncodeToString(r.Node[:])
	}
	return k.holder(r.Service)
}

// holder is where the record of a service belongs that one process has.
func (k keys) holder(id wire.ID) string { return k.of(id) + holder }

// wanted is where a process says that it wants a service.
func (k keys) wanted(id wire.ID) string { return k.of(id) + wish }

// isWish reports whether a key says who wants a service, and not who has it.
func isWish(key string) bool { return strings.HasSuffix(key, "/"+wish) }

// entry is a record in the directory. The zero entry stands for none.
type entry struct {
	record   find.Record
	revision int64            // of the last change: higher for a later one. Invariant: not 0 if there is a record
	lease    clientv3.LeaseID // with which it ends
}

// value is what is stored of a record: the base of its epoch, and the record. If the epoch in the record is 0, then it is the base plus the
// revision of the entry, which nobody knows before it is written.
func value(base uint64, r *find.Record) string {
	return string(r.Append([]byte(encodeBase(base))))
}

// entry takes apart what is stored at a key. What is not at the key where it belongs is refused: nobody speaks for others.
func (k keys) entry(kv *mvccpb.KeyValue) (entry, error) {
	base, err := decodeBase(kv.Value[:min(8, len(kv.Value))])
	if err != nil {
		return entry{}, err
	}
	r, err := find.Decode(kv.Value[8:])
	if err != nil {
		return entry{}, err
	}
	if r.Epoch == 0 {
		r.Epoch = base + uint64(kv.ModRevision)
	}
	if err := r.CheckClaim(); err != nil {
		return entry{}, err
	}
	if key := string(kv.Key); key != k.record(&r) && key != k.wanted(r.Service) {
		return entry{}, fmt.Errorf("%w: %v does not belong at this key", find.ErrRecord, &r)
	}
	return entry{record: r, revision: kv.ModRevision, lease: clientv3.LeaseID(kv.Lease)}, nil
}

// base is to what a revision is added to make an epoch, as it was last seen in the directory.
type base struct {
	value    uint64
	revision int64 // of its last change; 0 if it was never set
}

func encodeBase(value uint64) string { return string(binary.BigEndian.AppendUint64(nil, value)) }

func decodeBase(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%w: %d bytes for the base of epochs, not 8", find.ErrRecord, len(b))
	}
	base := binary.BigEndian.Uint64(b)
	if base > maxBase {
		return 0, fmt.Errorf("%w: %d as the base of epochs, allowed are %d", find.ErrRecord, base, uint64(maxBase))
	}
	return base, nil
}
