-- What both parts of the lean script know.
local pack, read = struct.pack, struct.unpack
local EXACT, STANDSTILL, ENTRY, ASKED = 9007199254740992, 1000000, 22, 18
