// Package plot draws charts, bars and schedules as SVG, and puts them on a page, for people who look at measurements. What
// it writes is complete in itself: no script, no font and no picture is loaded. It suits bright and dark screens, every
// line has a marker of its own beside its colour, and the same input gives the same bytes.
//
// Whatever can be drawn has a Validate of its own limits, and WriteSVG writes nothing if that fails.
package plot
