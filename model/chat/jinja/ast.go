package jinja

// at is the place of a node.
type at struct{ line int }

func (a at) where() int { return a.line }

// expr is an expression.
type expr interface {
	where() int
	eval(s *state, sc *scope) (Value, error)
}

type (
	constExpr struct {
		at
		value Value
	}
	nameExpr struct {
		at
		name string
	}
	listExpr struct {
		at
		items []expr
	}
	tupleExpr struct {
		at
		items []expr
	}
	dictExpr struct {
		at
		keys, values []expr
	}
	signExpr struct { // -x, +x
		at
		op string
		x  expr
	}
	notExpr struct {
		at
		x expr
	}
	logicExpr struct { // and, or
		at
		and         bool
		left, right expr
	}
	binaryExpr struct {
		at
		op          string
		left, right expr
	}
	concatExpr struct { // a ~ b ~ c
		at
		parts []expr
	}
	comparison struct {
		op    string
		right expr
	}
	compareExpr struct { // a < b < c
		at
		left expr
		ops  []comparison
	}
	condExpr struct {
		at
		test, then, otherwise expr // otherwise may be nil
	}
	attrExpr struct {
		at
		x    expr
		name string
	}
	itemExpr struct {
		at
		x, sub expr
	}
	sliceExpr struct { // each part may be nil
		at
		lo, hi, step expr
	}
	callExpr struct {
		at
		fn   expr
		args callArgs
	}
	filterExpr struct {
		at
		x    expr
		name string
		args callArgs
	}
	testExpr struct {
		at
		x    expr
		name string
		args callArgs
	}
)

type namedArg struct {
	name  string
	value expr
}

// callArgs are the arguments as written; star and doubleStar may be nil.
type callArgs struct {
	pos        []expr
	named      []namedArg
	star       expr
	doubleStar expr
}

// stmt is a statement.
type stmt interface {
	where() int
	exec(s *state, sc *scope) (control, error)
}

type (
	textStmt struct {
		at
		text string
	}
	printStmt struct {
		at
		x expr
	}
	ifStmt struct {
		at
		branches  []branch
		otherwise []stmt
	}
	branch struct {
		test expr
		body []stmt
	}
	forStmt struct {
		at
		target    target
		iter      expr
		filter    expr // may be nil
		recursive bool
		body      []stmt
		otherwise []stmt
	}
	setStmt struct {
		at
		target target
		value  expr
	}
	setBlockStmt struct {
		at
		target target
		filter filterChain
		body   []stmt
	}
	macroStmt struct {
		at
		def *macroDef
	}
	callStmt struct {
		at
		call *callExpr
		body *macroDef
	}
	filterStmt struct {
		at
		filter filterChain
		body   []stmt
	}
	withStmt struct {
		at
		targets []target
		values  []expr
		body    []stmt
	}
	generationStmt struct {
		at
		body []stmt
	}
	breakStmt    struct{ at }
	continueStmt struct{ at }
)

// filterChain is a | b(x) | c, to be applied to a block; its expressions are
// rooted at a nameExpr that blockValue is bound to.
type filterChain struct{ x expr }

// blockValue is the name, impossible in a template, of a filtered block's text.
const blockValue = "|"

// macroDef is a macro, or the body of a call block.
type macroDef struct {
	name     string
	params   []string
	defaults []expr // of the last parameters
	body     []stmt

	usesCaller, usesNamed, usesVarargs bool // caller, kwargs, varargs occur in it
}

// target is what can be assigned to.
type target interface {
	assign(s *state, sc *scope, v Value) error
}

type (
	nameTarget  struct{ name string }
	attrTarget  struct{ object, attr string }
	tupleTarget struct{ parts []target }
)
