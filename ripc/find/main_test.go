package find

import (
	"testing"

	"github.com/weft-fabric/weft/internal/leak/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
