#!/bin/sh
# spool.sh TEXT TITLE: puts a letter where the printer looks.
sed "s/TITLE/$2/" "$1" >"/var/spool/letters/$$.txt"
