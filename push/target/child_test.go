package target

import "os"

const childVariable = "WEFT_TARGET_CHILD"

func runChild() { os.Exit(0) }
