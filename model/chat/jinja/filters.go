package jinja

// filterFunc is a filter; v is what it is applied to.
type filterFunc func(s *state, v Value, a *args) (Value, error)

// filters are set by init, since some of them apply others by name.
var filters map[string]filterFunc

func init() {
	filters = map[string]filterFunc{
		"tojson": filterToJSON,

		// text
		"string":      filterString,
		"trim":        textFilter(filterTrim),
		"upper":       textFilter(viaMethod("upper")),
		"lower":       textFilter(viaMethod("lower")),
		"capitalize":  textFilter(viaMethod("capitalize")),
		"title":       plainFilter(titleWords),
		"striptags":   plainFilter(stripTags),
		"wordcount":   filterWordCount,
		"replace":     filterReplace,
		"indent":      filterIndent,
		"center":      textFilter(filterCenter),
		"truncate":    filterTruncate,
		"format":      textFilter(filterFormat),
		"urlencode":   filterURLEncode,
		"safe":        filterSafe,
		"e":           filterEscape,
		"escape":      filterEscape,
		"forceescape": filterForceEscape,

		// numbers
		"abs":   filterAbs,
		"int":   filterInt,
		"float": filterFloat,
		"round": filterRound,

		// any value
		"default": filterDefault,
		"d":       filterDefault,
		"attr":    filterAttr,

		// sequences and mappings
		"length":     filterLength,
		"count":      filterLength,
		"list":       filterList,
		"first":      filterFirst,
		"last":       filterLast,
		"join":       filterJoin,
		"reverse":    filterReverse,
		"sort":       filterSort,
		"unique":     filterUnique,
		"min":        filterExtreme(false),
		"max":        filterExtreme(true),
		"sum":        filterSum,
		"batch":      filterBatch,
		"slice":      filterSlice,
		"groupby":    filterGroupBy,
		"map":        filterMap,
		"select":     filterSelect(true, false),
		"reject":     filterSelect(false, false),
		"selectattr": filterSelect(true, true),
		"rejectattr": filterSelect(false, true),
		"items":      filterItems,
		"dictsort":   filterDictSort,
	}
}

func filterDefault(_ *state, v Value, a *args) (Value, error) {
	p, err := a.bind("default_value?", "boolean?")
	if err != nil {
		return nil, err
	}
	if _, missing := v.(*undefined); missing || truth(p.or(1, false)) && !truth(v) {
		return p.or(0, ""), nil
	}
	return v, nil
}

func filterAttr(s *state, v Value, a *args) (Value, error) {
	p, err := a.bind("name")
	if err != nil {
		return nil, err
	}
	name, err := p.text(0, "")
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*undefined); ok {
		return nil, u
	}
	if attr, ok := s.attribute(v, name); ok {
		return attr, nil
	}
	return missingFrom(v, name), nil
}
