ls -la /w | head -n 5 && git log --oneline -5
grep -rn "fn main" 'src dir' 2>&1 >/dev/null; cat <a >>b 2>|c
A=1 B="two $A" env -u C sh -c 'rm -rf "$0"' x
echo $(git rev-parse `git branch --show-current`) ${HOME}/${X:-y} $((1 + 2)) "$(cat <<E
body of $A
E
)"
for f in *.rs; do wc -l "$f"; done | sort -n & find . -name a\ b -exec rm {} + # a comment
cat <<-'END' <<< "text" | tee >(gzip > x)
	kept $as it is
	END
