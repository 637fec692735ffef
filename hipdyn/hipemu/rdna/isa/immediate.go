package isa

import (
	"fmt"
	"strconv"
	"strings"
)

// immediate prints the immediate of SOPK and SOPP. The text is what the table
// shows for another one.
func (p *printer) immediate(op *Op, text string) string {
	imm := p.in.Imm
	switch {
	case op.Base == "s_endpgm" && imm == 0:
		return ""
	case op.Base == "s_waitcnt":
		return p.waitcnt(imm)
	case strings.HasPrefix(text, "depctr"):
		return depctr(imm)
	case op.Base == "s_delay_alu":
		return delay(imm)
	case strings.HasPrefix(text, "hwreg"):
		return p.hwreg(imm)
	case strings.HasPrefix(text, "sendmsg"):
		return p.message(imm)
	case strings.HasPrefix(text, "0x"):
		return fmt.Sprintf("0x%x", imm)
	case strings.HasPrefix(op.Base, "s_cbranch"), op.Base == "s_branch", op.Base == "s_call_b64", strings.HasPrefix(op.Base, "s_subvector"):
		return strconv.Itoa(int(imm))
	case op.Base == "s_endpgm":
		return strconv.Itoa(int(imm))
	}
	return number(imm)
}

// Waits are the counters of s_waitcnt: how many operations may be left.
func (in *Inst) Waits() (vm, exp, lgkm, vmMax, lgkmMax uint16) {
	i := in.Imm
	if in.Set.Generation == 10 {
		return i&15 | i>>14<<4, i >> 4 & 7, i >> 8 & 63, 63, 63
	}
	return i >> 10, i & 7, i >> 4 & 63, 63, 63
}

func (p *printer) waitcnt(uint16) string {
	vm, exp, lgkm, vmMax, lgkmMax := p.in.Waits()
	all := vm == vmMax && exp == 7 && lgkm == lgkmMax
	var list []string
	if vm != vmMax || all {
		list = append(list, fmt.Sprintf("vmcnt(%d)", vm))
	}
	if exp != 7 || all {
		list = append(list, fmt.Sprintf("expcnt(%d)", exp))
	}
	if lgkm != lgkmMax || all {
		list = append(list, fmt.Sprintf("lgkmcnt(%d)", lgkm))
	}
	return strings.Join(list, " ")
}

// depctr prints counters of dependencies; those at their default are left out
// unless all are.
func depctr(imm uint16) string {
	fields := []struct {
		name         string
		shift, width uint
	}{
		{"hold_cnt", 7, 1}, {"sa_sdst", 0, 1}, {"va_vdst", 12, 4}, {"va_sdst", 9, 3}, {"va_ssrc", 8, 1}, {"va_vcc", 1, 1}, {"vm_vsrc", 2, 3},
	}
	var list, set []string
	for _, f := range fields {
		mask := uint16(1)<<f.width - 1
		v := imm >> f.shift & mask
		t := fmt.Sprintf("depctr_%s(%d)", f.name, v)
		list = append(list, t)
		if v != mask {
			set = append(set, t)
		}
	}
	if imm&0x60 != 0 { // not in use
		return fmt.Sprintf("0x%x", imm)
	}
	if len(set) == 0 {
		set = list
	}
	return strings.Join(set, " ")
}

var delays = []string{"", "VALU_DEP_1", "VALU_DEP_2", "VALU_DEP_3", "VALU_DEP_4", "TRANS32_DEP_1", "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"}

func delay(imm uint16) string {
	name := func(v uint16) string {
		if int(v) < len(delays) {
			return delays[v]
		}
		return "/* invalid instid value */"
	}
	var list []string
	if v := imm & 15; v != 0 {
		list = append(list, "instid0("+name(v)+")")
	}
	if v := imm >> 4 & 7; v != 0 {
		skip := "/* invalid instskip value */"
		if v == 1 {
			skip = "NEXT"
		} else if v <= 5 {
			skip = fmt.Sprintf("SKIP_%d", v-1)
		}
		list = append(list, "instskip("+skip+")")
	}
	if v := imm >> 7 & 15; v != 0 {
		list = append(list, "instid1("+name(v)+")")
	}
	if list == nil {
		return "0"
	}
	return strings.Join(list, " | ")
}

// Hardware registers by number; those that differ between generations are in
// hwregs11 and hwregs12.
var hwregs = map[int]map[uint16]string{
	10: {1: "MODE", 2: "STATUS", 3: "TRAPSTS", 5: "GPR_ALLOC", 6: "LDS_ALLOC", 7: "IB_STS", 15: "SH_MEM_BASES", 16: "TBA_LO", 17: "TBA_HI", 18: "TMA_LO", 19: "TMA_HI",
		20: "FLAT_SCR_LO", 21: "FLAT_SCR_HI", 23: "HW_ID1", 24: "HW_ID2", 25: "POPS_PACKER", 29: "SHADER_CYCLES"},
	11: {1: "MODE", 2: "STATUS", 3: "TRAPSTS", 5: "GPR_ALLOC", 6: "LDS_ALLOC", 7: "IB_STS", 15: "SH_MEM_BASES", 18: "PERF_SNAPSHOT_PC_LO", 19: "PERF_SNAPSHOT_PC_HI",
		20: "FLAT_SCR_LO", 21: "FLAT_SCR_HI", 23: "HW_ID1", 24: "HW_ID2", 27: "PERF_SNAPSHOT_DATA", 29: "SHADER_CYCLES"},
	12: {1: "MODE", 2: "STATUS", 4: "STATE_PRIV", 5: "GPR_ALLOC", 6: "LDS_ALLOC", 7: "IB_STS", 10: "PERF_SNAPSHOT_DATA", 11: "PERF_SNAPSHOT_PC_LO", 12: "PERF_SNAPSHOT_PC_HI",
		15: "PERF_SNAPSHOT_DATA1", 16: "PERF_SNAPSHOT_DATA2", 17: "EXCP_FLAG_PRIV", 18: "EXCP_FLAG_USER", 19: "TRAP_CTRL", 20: "SCRATCH_BASE_LO", 21: "SCRATCH_BASE_HI",
		23: "HW_ID1", 24: "HW_ID2", 29: "SHADER_CYCLES_LO", 30: "SHADER_CYCLES_HI", 31: "DVGPR_ALLOC_LO", 32: "DVGPR_ALLOC_HI"},
}

func (p *printer) hwreg(imm uint16) string {
	id, offset, size := imm&63, imm>>6&31, imm>>11+1
	name := strconv.Itoa(int(id))
	if n := hwregs[p.in.Set.Generation][id]; n != "" {
		name = "HW_REG_" + n
	}
	if offset == 0 && size == 32 {
		return "hwreg(" + name + ")"
	}
	return fmt.Sprintf("hwreg(%s, %d, %d)", name, offset, size)
}

// message prints the argument of s_sendmsg.
func (p *printer) message(imm uint16) string {
	gen := p.in.Set.Generation
	id, op, stream := imm&15, imm>>4&7, imm>>8&3
	if gen >= 11 {
		id, op, stream = imm&0xff, 0, 0
	}
	names := map[uint16]string{1: "MSG_INTERRUPT", 5: "MSG_STALL_WAVE_GEN", 6: "MSG_HALT_WAVES", 9: "MSG_GS_ALLOC_REQ"}
	more := map[uint16]string{4: "MSG_SAVEWAVE", 7: "MSG_ORDERED_PS_DONE", 8: "MSG_EARLY_PRIM_DEALLOC", 10: "MSG_GET_DOORBELL", 11: "MSG_GET_DDID"}
	if gen >= 11 {
		more = map[uint16]string{2: "MSG_HS_TESSFACTOR", 3: "MSG_DEALLOC_VGPRS"}
	}
	name := names[id]
	if name == "" {
		name = more[id]
	}
	switch {
	case name != "" && imm == id:
		return "sendmsg(" + name + ")"
	case gen >= 11 && imm > 0xff || gen == 10 && id != 3 && imm&^0x37f != 0:
		return strconv.Itoa(int(imm))
	case gen == 10 && (id == 2 && op > 0 || id == 3) && op < 4:
		s := []string{"MSG_GS", "MSG_GS_DONE"}[id-2] + ", GS_OP_" + []string{"NOP", "CUT", "EMIT", "EMIT_CUT"}[op]
		if op > 0 {
			s += fmt.Sprintf(", %d", stream)
		} else if stream > 0 {
			return fmt.Sprintf("sendmsg(3, 0, %d)", stream)
		}
		return "sendmsg(" + s + ")"
	}
	return fmt.Sprintf("sendmsg(%d, %d, %d)", id, op, stream)
}

// messageReturn prints the argument of s_sendmsg_rtn.
func messageReturn(id uint16) string {
	names := map[uint16]string{1: "MSG_INTERRUPT", 2: "MSG_HS_TESSFACTOR", 3: "MSG_DEALLOC_VGPRS", 5: "MSG_STALL_WAVE_GEN", 9: "MSG_GS_ALLOC_REQ", 128: "MSG_RTN_GET_DOORBELL", 129: "MSG_RTN_GET_DDID", 130: "MSG_RTN_GET_TMA", 131: "MSG_RTN_GET_REALTIME", 132: "MSG_RTN_SAVE_WAVE",
		133: "MSG_RTN_GET_TBA", 134: "MSG_RTN_GET_TBA_TO_PC"}
	if n := names[id]; n != "" {
		return n
	}
	return fmt.Sprintf("%d, 0, 0", id)
}
