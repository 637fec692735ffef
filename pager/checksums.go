package pager

// Checksums are those of the pages of a model.
type Checksums struct{}

func (c *Checksums) verify(*Page, []byte) error             { return nil }
func (c *Checksums) verifyRow(*Matrix, int32, []byte) error { return nil }
