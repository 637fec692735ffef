package gguf

// value consumes a value of type t, whose least bytes have been claimed.
// depth is the number of arrays around it.
func (s *scanner) value(t ValueType, depth int) (Value, error) {
	switch t {
	case TypeString:
		n, err := s.stringLength()
		if err != nil {
			return Value{}, err
		}
		text, err := s.text(n)
		return Value{typ: TypeString, text: text}, err
	case TypeArray:
		return s.array(depth)
	}
	at := s.pos
	b, err := s.next(int(valueTypes[t].size))
	if err != nil {
		return Value{}, err
	}
	v := Value{typ: t}
	for i, c := range b {
		v.bits |= uint64(c) << (8 * i)
	}
	if t == TypeBool && v.bits > 1 {
		return Value{}, s.errorf(at, "bool %d is neither 0 nor 1", v.bits)
	}
	return v, nil
}

// stringLength consumes the length of a string and claims its bytes.
func (s *scanner) stringLength() (int64, error) {
	at := s.pos
	n, err := s.u64()
	if err != nil {
		return 0, err
	}
	return int64(n), s.claim("string length", at, n, 1)
}

// valueType consumes a type that is called what in errors.
func (s *scanner) valueType(what string) (ValueType, error) {
	at := s.pos
	u, err := s.u32()
	if err != nil {
		return 0, err
	}
	if t := ValueType(u); t.known() {
		return t, nil
	}
	return 0, s.errorf(at, "%s %d is not known", what, u)
}

// array consumes an array: it checks every element and remembers where they
// are.
func (s *scanner) array(depth int) (Value, error) {
	at := s.pos
	if depth == maxDepth {
		return Value{}, s.errorf(at, "arrays are nested more than %d deep", maxDepth)
	}
	elem, err := s.valueType("array element type")
	if err != nil {
		return Value{}, err
	}
	at = s.pos
	n, err := s.u64()
	if err != nil {
		return Value{}, err
	}
	if err := s.claim("array length", at, n, valueTypes[elem].size); err != nil {
		return Value{}, err
	}
	v := Value{typ: TypeArray, elem: elem, n: int(n), r: s.r, off: s.pos}
	if err := s.skipElements(elem, n, depth); err != nil {
		return Value{}, err
	}
	v.size = s.pos - v.off
	return v, nil
}

// skipElements consumes the n elements of an array, whose least bytes have
// been claimed.
func (s *scanner) skipElements(elem ValueType, n uint64, depth int) error {
	switch elem {
	case TypeString:
		for range n {
			length, err := s.stringLength()
			if err != nil {
				return err
			}
			s.skip(length)
		}
	case TypeBool, TypeArray:
		for range n {
			if _, err := s.value(elem, depth+1); err != nil {
				return err
			}
		}
	default:
		s.skip(int64(n * valueTypes[elem].size))
	}
	return nil
}
