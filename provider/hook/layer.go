package hook

import "github.com/weft-fabric/weft/verbs/driver"

// layer is what one hook puts around the objects of a device. It sees the objects of the device inside; the wrappers
// in wrap.go translate what the program hands back in. A hook embeds transparent and overrides what it cares about.
type layer interface {
	limits(inner driver.Limits) driver.Limits
	// admit is asked before anything is made: an error refuses it, and what is made gets the access returned.
	admit(object Object, access driver.Access) (driver.Access, error)
	// newDomain makes the domain inside; domain is what the layer puts around it.
	newDomain(device driver.Device) (driver.Domain, error)
	domain(inner driver.Domain) driver.Domain
	// margins is how many bytes allocated memory gets in front of, and behind, those that it shows.
	margins() (front, back int)
	// memory gets the domain's memory; owned says that the provider allocated the bytes.
	memory(inner memoryParts, domain driver.Domain, owned bool) memoryParts
	completions(inner completionParts) completionParts
	// queuePair and shared also get the completion queue that this layer made, for which completions go there.
	queuePair(inner driver.QueuePair, config driver.QueueConfig, own driver.CompletionQueue) driver.QueuePair
	shared(inner driver.SharedReceives, own driver.CompletionQueue) driver.SharedReceives
	// window gets the queue pair that this layer made.
	window(inner driver.Window, own driver.QueuePair) driver.Window
	// setAccess changes the access of memory; its completion goes to the queue.
	setAccess(memory driver.MemoryAccess, queue *completionQueue, tag driver.Tag, access driver.Access) error
}

// Object is a kind of thing that a device makes, for rules that refuse to make it.
type Object uint8

// The kinds of things.
const (
	NoObject Object = iota
	DomainObject
	MemoryObject
	CompletionQueueObject
	QueuePairObject
	SharedReceivesObject
	WindowObject
	objectCount
)

var objectNames = [objectCount]string{"nothing", "domain", "memory", "completion queue", "queue pair",
	"shared receives", "window"}

func (o Object) String() string { return nameOf(objectNames[:], int(o), "Object") }

// transparent is the layer that changes nothing.
type transparent struct{}

func (transparent) admit(_ Object, access driver.Access) (driver.Access, error) { return access, nil }

func (transparent) limits(inner driver.Limits) driver.Limits { return inner }

func (transparent) newDomain(device driver.Device) (driver.Domain, error) { return device.NewDomain() }

func (transparent) margins() (front, back int) { return 0, 0 }

func (transparent) domain(inner driver.Domain) driver.Domain { return inner }

func (transparent) memory(inner memoryParts, _ driver.Domain, _ bool) memoryParts { return inner }

func (transparent) completions(inner completionParts) completionParts { return inner }

func (transparent) queuePair(inner driver.QueuePair, _ driver.QueueConfig, _ driver.CompletionQueue) driver.QueuePair {
	return inner
}

func (transparent) shared(inner driver.SharedReceives, _ driver.CompletionQueue) driver.SharedReceives {
	return inner
}

func (transparent) window(inner driver.Window, _ driver.QueuePair) driver.Window { return inner }

func (transparent) setAccess(m driver.MemoryAccess, q *completionQueue, tag driver.Tag, access driver.Access) error {
	return m.SetAccess(q.inner, tag, access)
}
