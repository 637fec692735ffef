package jinja

import (
	"testing"
	"time"
)

// strftimeFacts are formats and what Python's datetime.strftime makes of them
// for each of strftimeTimes, computed by Python 3.11 on Linux.
var strftimeTimes = []time.Time{
	time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC),
	time.Date(2024, 12, 30, 0, 0, 0, 0000, time.UTC),
	time.Date(2023, 1, 1, 12, 30, 59, 5000, time.UTC),
	time.Date(2026, 7, 26, 23, 59, 9, 0000, time.UTC),
	time.Date(2020, 2, 29, 13, 0, 0, 0000, time.UTC),
}

var strftimeFacts = []struct {
	format string
	want   [5]string
}{
	{"%a %A %b %B %h", [...]string{
		"Fri Friday Jan January Jan",
		"Mon Monday Dec December Dec",
		"Sun Sunday Jan January Jan",
		"Sun Sunday Jul July Jul",
		"Sat Saturday Feb February Feb",
	}},
	{"%c|%x|%X|%D|%F|%T|%R|%r", [...]string{
		"Fri Jan  2 03:04:05 2026|01/02/26|03:04:05|01/02/26|2026-01-02|03:04:05|03:04|03:04:05 AM",
		"Mon Dec 30 00:00:00 2024|12/30/24|00:00:00|12/30/24|2024-12-30|00:00:00|00:00|12:00:00 AM",
		"Sun Jan  1 12:30:59 2023|01/01/23|12:30:59|01/01/23|2023-01-01|12:30:59|12:30|12:30:59 PM",
		"Sun Jul 26 23:59:09 2026|07/26/26|23:59:09|07/26/26|2026-07-26|23:59:09|23:59|11:59:09 PM",
		"Sat Feb 29 13:00:00 2020|02/29/20|13:00:00|02/29/20|2020-02-29|13:00:00|13:00|01:00:00 PM",
	}},
	{"%d %e %j %m %y %Y %C %G %g", [...]string{
		"02  2 002 01 26 2026 20 2026 26",
		"30 30 365 12 24 2024 20 2025 25",
		"01  1 001 01 23 2023 20 2022 22",
		"26 26 207 07 26 2026 20 2026 26",
		"29 29 060 02 20 2020 20 2020 20",
	}},
	{"%H %I %k %l %M %S %f %p %P", [...]string{
		"03 03  3  3 04 05 678901 AM am",
		"00 12  0 12 00 00 000000 AM am",
		"12 12 12 12 30 59 000005 PM pm",
		"23 11 23 11 59 09 000000 PM pm",
		"13 01 13  1 00 00 000000 PM pm",
	}},
	{"%U %W %V %u %w", [...]string{
		"00 00 01 5 5",
		"52 53 01 1 1",
		"01 00 52 7 0",
		"30 29 30 7 0",
		"08 08 09 6 6",
	}},
	{"%-d %-m %-H %-I %-j %-y %_d %_m %_H %0e", [...]string{
		"2 1 3 3 2 26  2  1  3 02",
		"30 12 0 12 365 24 30 12  0 30",
		"1 1 12 12 1 23  1  1 12 01",
		"26 7 23 11 207 26 26  7 23 26",
		"29 2 13 1 60 20 29  2 13 29",
	}},
	{"%^a %^B %#p %#a", [...]string{
		"FRI JANUARY am FRI",
		"MON DECEMBER am MON",
		"SUN JANUARY pm SUN",
		"SUN JULY pm SUN",
		"SAT FEBRUARY pm SAT",
	}},
	{"%% %n%t|%z|%Z|", [...]string{
		"% \n\t|||",
		"% \n\t|||",
		"% \n\t|||",
		"% \n\t|||",
		"% \n\t|||",
	}},
	{"%Q %", [...]string{
		"%Q %",
		"%Q %",
		"%Q %",
		"%Q %",
		"%Q %",
	}},
	{"%", [...]string{
		"%",
		"%",
		"%",
		"%",
		"%",
	}},
	{"plain", [...]string{
		"plain",
		"plain",
		"plain",
		"plain",
		"plain",
	}},
	{"%d %B %Y, %I:%M%p", [...]string{
		"02 January 2026, 03:04AM",
		"30 December 2024, 12:00AM",
		"01 January 2023, 12:30PM",
		"26 July 2026, 11:59PM",
		"29 February 2020, 01:00PM",
	}},
	{"%Ja%", [...]string{
		"%Ja%",
		"%Ja%",
		"%Ja%",
		"%Ja%",
		"%Ja%",
	}},
}

func TestStrftime(t *testing.T) {
	for _, f := range strftimeFacts {
		for i, want := range f.want {
			if got := Strftime(strftimeTimes[i], f.format); got != want {
				t.Errorf("%s of %v: got %q, want %q", f.format, strftimeTimes[i], got, want)
			}
		}
	}
}
