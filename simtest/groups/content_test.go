package groups

import "testing"

// Contents are recognised wherever they lie, and a byte of another object, place or value is not.
func TestContents(t *testing.T) {
	c, err := New(Config{Nodes: 1})
	check(t, err)
	defer func() { check(t, c.Close()) }()
	bytes, err := c.Nodes[0].domain.Alloc(100, 0)
	check(t, err)
	defer func() { check(t, bytes.Close()) }()
	phantom, err := c.Nodes[0].domain.AllocPhantom(100, 0)
	check(t, err)
	defer func() { check(t, phantom.Close()) }()

	p := piece{object: 3, offset: 13, length: 50}
	check(t, p.put(bytes, 7))
	check(t, p.put(phantom, 7))
	for offset := range uint64(40) {
		part := piece{p.object, p.offset + offset, 10}
		if !part.isAt(bytes, 7+int(offset)) || !part.isAt(phantom, 7+int(offset)) {
			t.Errorf("the part from %d is not recognised", offset)
		}
		if part.isAt(bytes, 8+int(offset)) || part.isAt(phantom, 8+int(offset)) {
			t.Errorf("the part from %d is recognised a byte further", offset)
		}
		part.object++
		if part.isAt(bytes, 7+int(offset)) || part.isAt(phantom, 7+int(offset)) {
			t.Errorf("the part from %d is taken for another object's", offset)
		}
	}
	for i := range p.length {
		bytes.Bytes()[7+i] ^= 1
		if p.isAt(bytes, 7) {
			t.Errorf("a wrong bit in byte %d is not seen", i)
		}
		bytes.Bytes()[7+i] ^= 1
	}
}
