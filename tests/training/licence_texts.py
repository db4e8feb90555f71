"""Beginnings of licences, as repositories contain them."""

from __future__ import annotations

MIT = """\
The MIT License (MIT)

Copyright (c) 2019 The Harbour Authors

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction.
"""
APACHE = """\
                                 Apache License
                           Version 2.0, January 2004
                        http://www.apache.org/licenses/

   TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION
"""
BSD = """\
Copyright 2019 The Harbour Authors. All rights reserved.

Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met:
"""
ISC = """\
Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted.
"""
ZLIB = "This software is provided ‘as-is’, without any express or implied\nwarranty.\n"
GPL = """\
                    GNU GENERAL PUBLIC LICENSE
                       Version 3, 29 June 2007
"""
MPL = "Mozilla Public License Version 2.0\n==================================\n"
